//! The columns of trials and their lost attempts, as every engine stores them.

use std::collections::BTreeMap;

use record::{Trial, trial::Past};

use crate::{
    Error, Losses, Piece, StoredTrial,
    losses::{Lost, fold},
    values::natural,
};

/// A stored trial; `key`: number, epoch, session. A trial that cannot be read does not keep others from being read.
pub(crate) fn stored(
    key: (i64, i64, i64),
    body: &str,
    pieces: Result<Vec<Piece>, Error>,
    again: bool,
    past: Past,
) -> Result<StoredTrial, Error> {
    let (number, epoch, session) = (natural(key.0)?, natural(key.1)?, natural(key.2)?);
    let read = serde_json::from_str::<Trial>(body).map_err(|error| error.to_string()).and_then(|trial| {
        let pieces = pieces.map_err(|error| error.to_string())?;
        if trial.number == number { Ok((trial, pieces)) } else { Err(format!("it is that of trial {}", trial.number)) }
    });
    Ok(match read {
        Ok((trial, pieces)) => {
            StoredTrial { trial: Trial { past, ..trial }, session, pieces, again, unreadable: false }
        }
        Err(reason) => StoredTrial::unreadable(number, epoch, session, again, &reason),
    })
}

/// Of a lost attempt: number, epoch, session, begun, solo, given up, and the epoch with which its trial ended last, or 0.
pub(crate) type AttemptRow = (i64, i64, i64, bool, bool, bool, i64);

/// Trials that are not done and were leased with their latest epoch, and the losses of those that were lost.
pub(crate) type Attempts = (Vec<(u64, u32)>, Vec<Losses>);

/// The latest epoch of each trial that is not done and was leased, and how often it was lost since it last ended. `ended`:
/// number and epoch of the trials that ended and will be replayed; `rows`: by number and epoch, ascending.
pub(crate) fn attempts(ended: Vec<(i64, i64)>, rows: Vec<AttemptRow>) -> Result<Attempts, Error> {
    let mut attempts: BTreeMap<u64, u32> = BTreeMap::new();
    for (number, epoch) in ended {
        attempts.insert(natural(number)?, natural(epoch)?);
    }
    let mut lost = Vec::with_capacity(rows.len());
    for (number, epoch, session, begun, proof, given_up, ended) in rows {
        let attempt = attempts.entry(natural(number)?).or_default();
        *attempt = (*attempt).max(natural(epoch)?);
        if epoch > ended {
            let (number, session) = (natural(number)?, natural(session)?);
            lost.push(Lost { number, session, begun, proof, given_up });
        }
    }
    Ok((attempts.into_iter().collect(), fold(lost)))
}
