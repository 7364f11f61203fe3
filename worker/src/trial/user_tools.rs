//! The tools of a simulated user: mocks of the scenario, which share their state with the agent's mocks.

use std::sync::Arc;

use record::{Failure, FailureKind};
use scenario::{conversation::Simulator, mock::Tool};

use super::stage::Stage;

/// The tools that the user of a conversation can use.
pub(super) fn of(stage: &mut Stage, simulator: &Simulator) -> Result<Vec<Tool>, Failure> {
    let names = &simulator.extras.tools;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let script = Arc::clone(&stage.script);
    // A persona can name tools that this scenario does not have.
    if let Some(name) = names.iter().find(|name| !script.scenario.mocks.iter().any(|mock| mock.answers(name))) {
        let message = format!("no mock of the scenario answers the simulated user's tool {name:?}");
        return Err(Failure::new(FailureKind::Misconfigured, message));
    }
    let tools = stage.line.toolbox.tools(&script.scenario, &stage.calling, stage.resources.now_millis);
    Ok(tools.offered_to_user(names))
}
