//! What an agent that does as the scenario expects would answer in a step: the mock agent plays by it.

use std::sync::Arc;

use llm::Cue;
use scenario::{Action, Step};

/// `None` where the scenario expects nothing in particular, as in a conversation with a simulated user.
pub(crate) fn of_step(step: &Step) -> Option<Arc<Cue>> {
    let Action::Say { expected: Some(expected), .. } = &step.action else { return None };
    Some(Arc::new(Cue { text: expected.text(), tool_calls: Vec::new() }))
}
