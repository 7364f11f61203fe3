//! Stops runs that are decided. `Decided::Concluded` is stored at the end, with the number of trials that there are then.

use std::sync::Arc;

use record::decision::Decided;
use scenario::RunId;
use store::{Moved, Store};

use super::Dispatcher;

impl<S: Store> Dispatcher<S> {
    /// Tells the scheduler which trials of a run are not needed any more.
    pub(super) async fn stop_what_is_decided(&mut self, id: &RunId) {
        let Some(run) = self.runs.get_mut(id).filter(|run| run.is_running()) else { return };
        let plan = Arc::clone(&run.plan);
        let Some(event) = run.deciding.as_mut().and_then(|deciding| deciding.news(id, &plan)) else { return };
        self.hear(event).await;
    }

    /// Before the end of a run that was decided is stored: its trials are those that ended. Returns when that was, in Unix
    /// milliseconds.
    pub(super) async fn conclude(&mut self, id: &RunId, ended: u64) -> Result<Option<i64>, store::Error> {
        let Some(reason) = self.runs.get(id).and_then(|run| run.deciding.as_ref()?.reason(&run.plan)) else {
            return Ok(None);
        };
        let moved = Moved { planned: Some(ended), ..Moved::default() };
        self.decide(id, None, Decided::Concluded { reason }, moved).await?;
        let Some(run) = self.runs.get_mut(id) else { return Ok(None) };
        run.row.planned = ended;
        Ok(run.decisions.last().map(|decision| decision.at))
    }
}
