//! The turn loop: say, hear, judge, record.

use std::{sync::Arc, time::Duration};

use record::{Failure, FailureKind, Role, Scope, turn::Speaker};
use scenario::{
    Conversation, Message,
    conversation::{Condition, Simulator},
    ids::seed_of,
};

use crate::{
    recorder::Recorded,
    script::StepChecks,
    simulator,
    stage::{Judged, Stage},
    termination,
};

/// Holds a conversation with a simulated user and judges it.
pub(crate) async fn hold(
    stage: &mut Stage,
    step: u32,
    written: &Conversation,
    checks: &StepChecks,
) -> Result<(), Failure> {
    stage.conversations += 1;
    let clock = Clock { total: Duration::from_millis(written.total_timeout_ms), first_turn: stage.turns.len() };
    stage.termination_reason = Some(turns(stage, step, written, checks, &clock).await?);
    let first_turn = clock.first_turn;
    let transcript = record::turn::transcript(&stage.turns[first_turn..]);
    let what = Judged {
        scope: Scope::Conversation { step },
        reply: &transcript,
        said: &transcript,
        first_turn,
        conversation: true,
        duration_ms: u64::try_from(stage.agents_time(first_turn).as_millis()).ok(),
    };
    stage.judge(&checks.at_the_end, what).await;
    Ok(())
}

/// The turns of a conversation, and the name of what ended it.
async fn turns(
    stage: &mut Stage,
    step: u32,
    written: &Conversation,
    checks: &StepChecks,
    clock: &Clock,
) -> Result<String, Failure> {
    let first_turn = clock.first_turn;
    let mut line = Message::user(written.opening_line.clone());
    let mut speaker = Speaker::Scripted;
    for turn in 1..=written.max_turns {
        let left = clock.left(stage)?;
        let whole = Duration::from_millis(written.turn_timeout_ms);
        if let Err(failure) = stage.say(step, std::slice::from_ref(&line), speaker, whole.min(left), None).await {
            // Where the conversation's limit left it less than a turn's time, that is what it has used up.
            let cut_short = failure.kind == FailureKind::AgentTimeout && left < whole;
            return Err(clock.left(stage).err().filter(|_| cut_short).unwrap_or(failure));
        }
        let number = stage.turns.len();
        let (reply, said) = (stage.last_reply().to_owned(), stage.last_said());
        let what = Judged {
            scope: Scope::Turn { step, turn: u32::try_from(number).unwrap_or(u32::MAX) },
            reply: &reply,
            said: &said,
            first_turn: number - 1,
            conversation: true,
            duration_ms: stage.turns.last().map(|turn| turn.duration_micros / 1_000),
        };
        stage.judge(&checks.each_turn, what).await;
        match is_over(stage, written, first_turn).await {
            Ok(Some(fired)) => return Ok(fired),
            Ok(None) if turn == written.max_turns => break,
            Ok(None) => {}
            Err(failure) => return Err(failure),
        }
        clock.left(stage)?;
        let debug = written.debug.log_user_simulation;
        line = Message::user(next_line(stage, &written.simulator, debug, first_turn).await?);
        speaker = Speaker::Simulated;
    }
    Ok(Condition::MaxTurnsReached.name().to_owned())
}

/// The name of the condition that ends the conversation, if one does.
async fn is_over(stage: &mut Stage, written: &Conversation, first_turn: usize) -> Result<Option<String>, Failure> {
    let decisions = termination::decide(
        &written.stops,
        &stage.turns[first_turn..],
        &stage.resources.hooks,
        &stage.bench,
        stage.ticket.trial.id.as_str(),
    )
    .await;
    let decisions = match decisions {
        Ok(decisions) => decisions,
        Err(failure) => {
            stage.settle();
            return Err(failure.in_turn(stage.next_number() - 1));
        }
    };
    if written.debug.log_turn_decisions {
        for asked in &decisions.asked {
            tracing::info!(trial = %stage.ticket.trial.id, decision = asked, "termination");
            stage.note("termination", asked.clone());
        }
    }
    stage.settle();
    Ok(decisions.fired)
}

/// What the simulated user says after the turns from `first_turn` on.
pub(crate) async fn next_line(
    stage: &mut Stage,
    user: &Simulator,
    debug: bool,
    first_turn: usize,
) -> Result<String, Failure> {
    let number = stage.next_number();
    let model = stage.resources.models.user_sim(&user.model_type);
    let model = Recorded::new(model, Role::UserSim, Arc::clone(stage.log()), stage.gate().clone());
    let context = llm::Context {
        role: Role::UserSim.name().to_owned(),
        turn: number,
        idempotency_key: format!("{}/user_sim/{number}", stage.bench.template.idempotency_key),
        trace: Some(stage.trace_of_trial()),
        ..stage.bench.template.clone()
    };
    let seed = seed_of(&[&stage.ticket.trial.seed.to_le_bytes(), b"user_sim", &number.to_le_bytes()]);
    let answer = simulator::next_line(user, &stage.turns[first_turn..], &model, context, seed).await;
    let line = match answer {
        Ok(line) => line,
        Err(failure) => {
            // The turn that it asked for never comes.
            stage.settle_trial();
            return Err(failure.in_turn(number));
        }
    };
    if debug {
        tracing::info!(trial = %stage.ticket.trial.id, turn = number, reply = line.raw, "user simulation");
        stage.note("simulator_prompt", line.prompt_for_debug);
        stage.note("simulator_reply", line.raw);
    }
    Ok(line.text)
}

/// The total time of a conversation. It runs while the agent or one of its tools is at work: neither the simulated user
/// nor a judge, no wait for a permit and no try that was repeated uses it up.
struct Clock {
    total: Duration,
    /// Index of the conversation's first turn.
    first_turn: usize,
}

impl Clock {
    fn left(&self, stage: &Stage) -> Result<Duration, Failure> {
        let left = self.total.saturating_sub(stage.agents_time(self.first_turn));
        if left.is_zero() { Err(self.over(stage)) } else { Ok(left) }
    }

    fn over(&self, stage: &Stage) -> Failure {
        let turns = stage.turns.len() - self.first_turn;
        let message = format!(
            "the agent took {} ms for {turns} turns; the conversation's limit is {} ms",
            stage.agents_time(self.first_turn).as_millis(),
            self.total.as_millis(),
        );
        let failure = Failure::new(FailureKind::ConversationTimeout, message);
        failure.in_turn(u32::try_from(stage.turns.len()).unwrap_or(u32::MAX))
    }
}
