//! The columns of a run, as every engine stores them.

use record::{Usd, call::Spend, summary::RunState};
use scenario::{Digest, RunId};

use crate::{Error, RunRow};

/// Id, name, digest of the plan, seed, planned, state, started at, ended at, version, exhausted, preflight, the most that it
/// may cost.
pub(crate) type Columns =
    (String, String, String, i64, i64, String, i64, Option<i64>, String, bool, String, Option<i64>);

pub(crate) fn row(columns: Columns) -> Result<RunRow, Error> {
    let (id, name, plan_digest, seed, planned, state, started_at, ended_at, version, exhausted, preflight, max_cost) =
        columns;
    let preflight: Spend =
        serde_json::from_str(&preflight).map_err(|error| Error::Failed(format!("a stored preflight: {error}")))?;
    Ok(RunRow {
        id: RunId::new(id),
        name,
        plan_digest: Digest::new(plan_digest),
        seed: seed.cast_unsigned(),
        planned: planned.cast_unsigned(),
        state: state_of(&state)?,
        started_at,
        ended_at,
        version,
        exhausted,
        max_cost: max_cost.map(Usd),
        preflight,
    })
}

pub(crate) fn state_name(state: RunState) -> &'static str {
    match state {
        RunState::Running => "running",
        RunState::Finished => "finished",
        RunState::Interrupted => "interrupted",
        RunState::Cancelled => "cancelled",
    }
}

fn state_of(name: &str) -> Result<RunState, Error> {
    match name {
        "running" => Ok(RunState::Running),
        "finished" => Ok(RunState::Finished),
        "interrupted" => Ok(RunState::Interrupted),
        "cancelled" => Ok(RunState::Cancelled),
        other => Err(Error::Failed(format!("{other} where the state of a run is kept"))),
    }
}
