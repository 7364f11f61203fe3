//! Requests a day: how many workers got of a limit on one day, over all runs.
//!
//! What was given out and not given back counts as used, so neither a killed worker nor a killed coordinator lets a day have
//! more requests than its limit.

/// Days that are kept, besides today.
pub(crate) const KEPT_DAYS: i64 = 7;

/// The answer to a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drawn {
    /// What may start now.
    pub granted: u64,
    /// What others may still draw of the day.
    pub left: u64,
}

/// What becomes of a day of which `given` requests were given out. Returns the new number and the answer.
///
/// `most`: the limit. `ask`: how many requests to draw; below 0, how many go back.
pub(crate) fn draw(given: u64, most: u64, ask: i64) -> (u64, Drawn) {
    match u64::try_from(ask) {
        Ok(ask) => {
            let granted = ask.min(most.saturating_sub(given));
            let given = given.saturating_add(granted);
            (given, Drawn { granted, left: most.saturating_sub(given) })
        }
        Err(_) => {
            let given = given.saturating_sub(ask.unsigned_abs());
            (given, Drawn { granted: 0, left: most.saturating_sub(given) })
        }
    }
}
