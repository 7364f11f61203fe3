//! What an export reads of a run.

use lake::Attempt;
use record::{Summary, call::Spend};
use scenario::Plan;

use crate::export::Exported;

/// A run that can be exported. Nothing of it is in memory but what was asked for last.
pub(crate) trait Source {
    async fn summary(&mut self) -> anyhow::Result<Summary>;

    async fn plan(&mut self, summary: &Summary) -> anyhow::Result<Plan>;

    /// The next trial that ended, in the plan's order; `None` after the last.
    async fn next(&mut self) -> anyhow::Result<Option<Exported>>;

    /// Some of the attempts that do not count, behind `after` (trial, epoch); none after the last.
    async fn attempts(&mut self, after: Option<(u64, u32)>) -> anyhow::Result<Vec<Attempt>>;

    /// What all attempts used.
    async fn spend(&mut self) -> anyhow::Result<Spend>;
}
