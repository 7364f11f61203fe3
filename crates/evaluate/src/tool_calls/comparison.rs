//! How one call that the agent made compares with one expected call.

use record::Finding;

use crate::outcome::Outcome;

/// `Err` holds why the call does not answer the expected one, or why that could not be judged.
pub(super) type Comparison = Result<(), Outcome>;

pub(super) fn is_fail(outcome: &Outcome) -> bool {
    outcome.finding == Finding::Fail
}
