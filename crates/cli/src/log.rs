//! `--log`: every message and finding, printed in the plan's order during the run.

use std::time::Duration;

use scenario::{Plan, RunId};
use tokio_util::sync::CancellationToken;

use crate::{
    client::Client,
    export::{self, Exported},
    patience::Patience,
    stdout,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// With the headings of skUnit
    Skunit,
}

/// The interval at which ended trials are printed.
const PERIOD: Duration = Duration::from_millis(200);

/// Prints until `ended`, then the rest.
pub(crate) async fn print(
    format: LogFormat,
    mut client: Client,
    run: RunId,
    plan: Plan,
    ended: CancellationToken,
) -> anyhow::Result<()> {
    let LogFormat::Skunit = format;
    let mut log = report::skunit::Log::new(plan);
    let mut next = 0;
    loop {
        let last = ended.is_cancelled();
        // Trials end in any order; later ones wait for an earlier one that still runs.
        export::each_trial(&mut client, &run, next, Patience::NONE, |Exported { trial, turns, .. }| {
            if !last && trial.number != next {
                return Ok(false);
            }
            next = trial.number + 1;
            stdout::write(&log.add(&trial, &turns))?;
            Ok(true)
        })
        .await?;
        if last {
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            () = ended.cancelled() => {}
        }
    }
}
