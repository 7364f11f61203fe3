//! Attempts that do not count, on the wire.

use proto::v1;
use store::{AttemptEnd, StoredAttempt};

/// Read from the store at a time.
pub(super) const PAGE: u32 = 64;
/// A page ends with the attempt that exceeds so many bytes.
const PAGE_BYTES: usize = 1 << 20;

/// A page of them, with at least one if there is one.
pub(super) fn page(attempts: Vec<StoredAttempt>) -> Vec<v1::OtherAttempt> {
    let mut page = Vec::new();
    let mut bytes = 0;
    for attempt in attempts {
        if bytes > PAGE_BYTES {
            break;
        }
        let attempt = to_wire(attempt);
        bytes += proto::size_of_attempt(&attempt);
        page.push(attempt);
    }
    page
}

fn to_wire(attempt: StoredAttempt) -> v1::OtherAttempt {
    let StoredAttempt { number: trial, epoch, session: _, end } = attempt;
    let of = v1::OtherAttempt { trial, epoch, ..v1::OtherAttempt::default() };
    match end {
        AttemptEnd::Lost { begun, given_up, at } => v1::OtherAttempt { begun, given_up, lost_at: at, ..of },
        AttemptEnd::Replaced(ended) => {
            v1::OtherAttempt { begun: true, replaced: Some(proto::trial::to_wire(*ended, Vec::new())), ..of }
        }
    }
}
