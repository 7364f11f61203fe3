//! The columns of attempts that do not count, as every engine stores them.

use record::{Trial, trial::Past};

use crate::{AttemptEnd, Error, StoredAttempt, StoredTrial, values::natural};

/// Number, epoch, session, the record of a replaced end; of a lost one: begun, given up, and when.
pub(crate) type Columns = (i64, i64, i64, Option<String>, bool, bool, i64);

pub(crate) fn attempt(columns: Columns) -> Result<StoredAttempt, Error> {
    let (number, epoch, session, body, begun, given_up, at) = columns;
    let (number, epoch, session) = (natural(number)?, natural(epoch)?, natural(session)?);
    let end = match body {
        None => AttemptEnd::Lost { begun, given_up, at },
        Some(body) => {
            let trial = match serde_json::from_str::<Trial>(&body) {
                Ok(trial) if trial.number == number => Trial { past: Past::default(), ..trial },
                Ok(trial) => unreadable(number, epoch, session, &format!("it is that of trial {}", trial.number)),
                Err(error) => unreadable(number, epoch, session, &error.to_string()),
            };
            AttemptEnd::Replaced(Box::new(trial))
        }
    };
    Ok(StoredAttempt { number, epoch, session, end })
}

fn unreadable(number: u64, epoch: u32, session: u64, reason: &str) -> Trial {
    StoredTrial::unreadable(number, epoch, session, false, reason).trial
}

/// The bound of a query for what is behind an attempt.
pub(crate) fn behind(after: Option<(u64, u32)>) -> (i64, i64) {
    after.map_or((-1, 0), |(number, epoch)| (crate::values::bound(number), i64::from(epoch)))
}
