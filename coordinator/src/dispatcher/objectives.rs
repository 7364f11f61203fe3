//! Objectives while runs play: they are judged on the merged figures, and a broken one with `abort` drains its run.

use std::time::Duration;

use record::decision::Decided;
use scenario::RunId;
use store::{Moved, Store};
use tokio::time::Instant;

use super::Dispatcher;
use crate::scheduler::Event;

/// How often the objectives of a run are judged.
const BETWEEN: Duration = Duration::from_secs(1);

impl<S: Store> Dispatcher<S> {
    pub(super) async fn judge_objectives(&mut self) {
        if self.runs.values().all(|run| run.tally.objectives.is_empty()) {
            return;
        }
        let (now, at) = (Instant::now(), self.clock.now());
        let mut broken: Vec<(RunId, String, String)> = Vec::new();
        for (id, run) in &mut self.runs {
            let is_due = run.objectives_judged.is_none_or(|judged| now.duration_since(judged) >= BETWEEN);
            if !run.is_running() || run.hopeless.is_some() || run.tally.objectives.is_empty() || !is_due {
                continue;
            }
            run.objectives_judged = Some(now);
            broken.extend(run.broken_objective(at).map(|(objective, reason)| (id.clone(), objective, reason)));
        }
        for (run, objective, reason) in broken {
            let reason = format!("the objective `{objective}` is broken: {reason}");
            if let Err(error) = self.stop_by_itself(&run, reason, Some(objective)).await {
                return self.store_failed(&error).await;
            }
        }
    }

    /// Drains a run that nobody stopped. The reason is stored first.
    pub(super) async fn stop_by_itself(
        &mut self,
        id: &RunId,
        reason: String,
        objective: Option<String>,
    ) -> Result<(), store::Error> {
        tracing::warn!(run = %id, reason, "the run is drained");
        self.decide(id, None, Decided::Stopped { reason: reason.clone(), objective }, Moved::default()).await?;
        if let Some(run) = self.runs.get_mut(id) {
            run.hopeless = Some(reason);
        }
        self.hear(Event::RunStopped { run: id.clone(), drain: true }).await;
        Ok(())
    }
}
