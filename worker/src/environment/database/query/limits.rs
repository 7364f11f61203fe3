//! The limits of one look at a database.

use std::time::Duration;

/// With its connection.
pub(super) const TIME: Duration = Duration::from_secs(5);
/// Of one query.
pub(super) const MOST_ROWS: usize = 1_000;
