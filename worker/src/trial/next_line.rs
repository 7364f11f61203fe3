//! What the simulated user says next.

use record::{Failure, Role};
use scenario::conversation::Simulator;

use super::stage::Stage;
use crate::simulator;

/// Asks the simulated user, who has seen the turns from `first_turn` on.
pub(super) async fn next_line(
    stage: &mut Stage,
    user: &Simulator,
    debug: bool,
    first_turn: usize,
) -> Result<String, Failure> {
    let number = stage.transcript.next_number();
    let model = stage.calling.recorded(stage.resources.models.user_sim(&user.model_type), Role::UserSim);
    let (context, seed) = stage.calling.of_user(number);
    let turns = &stage.transcript.turns()[first_turn..];
    let drafted = match simulator::draft(user, turns, &model, context, seed).await {
        Ok(drafted) => drafted,
        Err(failure) => {
            // The turn that this call was made for never exists.
            stage.settle_trial();
            return Err(failure.in_turn(number));
        }
    };
    if debug {
        tracing::info!(trial = %stage.ticket.trial.id, turn = number, reply = drafted.draft.raw, "user simulation");
        stage.transcript.note("simulator_prompt", drafted.prompt_for_debug);
        stage.transcript.note("simulator_reply", drafted.draft.raw);
    }
    // Faults in a draft are found here, before the agent sees any of it.
    Ok(drafted.draft.say)
}
