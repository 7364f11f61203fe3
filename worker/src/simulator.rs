//! The simulated user's calls: a language model drafts the next line of the person that it plays.
//!
//! The crate `user` says what the model sees and what its answer means. A model that fails or says nothing is our fault and
//! ends the trial: no line is ever made up for it.

use record::{Failure, FailureKind, Turn};
use scenario::{conversation::Simulator, ids::seed_of};
use user::{Draft, prompt};

/// A model that says nothing is asked once more.
const MOST_CALLS: u32 = 2;

/// A draft and the prompt that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drafted {
    pub(crate) draft: Draft,
    /// The whole prompt, one block for each message.
    pub(crate) prompt_for_debug: String,
}

/// Asks `model` to speak as the user after `turns`, the conversation so far, oldest first.
///
/// `context`: of the first call. `seed`: of this trial and turn.
pub(crate) async fn draft(
    simulator: &Simulator,
    turns: &[Turn],
    model: &dyn llm::Chat,
    context: llm::Context,
    seed: u64,
) -> Result<Drafted, Failure> {
    let mut request = llm::chat::Request {
        messages: prompt::messages(simulator, turns),
        temperature: Some(simulator.temperature),
        max_tokens: Some(simulator.max_tokens),
        seed: Some(seed),
        context,
        ..llm::chat::Request::default()
    };
    let mut raw = String::new();
    for call in 0..MOST_CALLS {
        if call > 0 {
            // Another call, not another try of the first: with its key and seed it would get the same nothing.
            request.context.call += 1;
            request.context.idempotency_key.push_str("/again");
            request.seed = Some(seed_of(&[&seed.to_le_bytes(), &call.to_le_bytes()]));
        }
        let draft = Draft::read(model.ask(&request).await.map_err(|error| failure(&error))?.text);
        if !draft.say.is_empty() {
            return Ok(Drafted { draft, prompt_for_debug: shown(&request.messages) });
        }
        raw = draft.raw;
    }
    let said = if raw.trim().is_empty() { String::new() } else { format!(": it answered {raw:?}") };
    Err(Failure::new(
        FailureKind::SimulatorFailed,
        format!("the simulated user said nothing, asked {MOST_CALLS} times{said}"),
    ))
}

fn failure(error: &llm::Error) -> Failure {
    let kind = match error {
        llm::Error::Exhausted { .. } => FailureKind::ProviderExhausted,
        error if error.is_of_settings() => FailureKind::Misconfigured,
        _ => FailureKind::SimulatorFailed,
    };
    Failure::new(kind, format!("the simulated user's model failed: {error}"))
}

fn shown(messages: &[llm::Message]) -> String {
    let blocks: Vec<String> =
        messages.iter().map(|message| format!("[{}]\n{}", message.role.name(), message.content)).collect();
    blocks.join("\n\n")
}

#[cfg(test)]
mod tests;
