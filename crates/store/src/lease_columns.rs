//! The columns of leases, as every engine stores them, and what is left of leases after a release or a loss.

use std::collections::BTreeSet;

use scenario::RunId;

use crate::{
    Error, Lease, ranges,
    values::{bound, integer, natural},
};

/// A live lease, with fields that only the store has.
pub(crate) struct Live {
    pub(crate) lease: Lease,
    pub(crate) run_key: i64,
    granted_at: i64,
}

/// The lease's id, its first trial and the one after its last, its epoch, the run's id and key, when it was granted, and how
/// many of its trials had begun.
pub(crate) type LiveRow = (i64, i64, i64, i64, String, i64, i64, i64);

/// The leases of a session.
pub(crate) fn live(session: u64, rows: Vec<LiveRow>) -> Result<Vec<Live>, Error> {
    let live = rows.into_iter().map(|(id, first, past, epoch, run, run_key, granted_at, begun)| {
        let (id, trials, run) = (natural(id)?, natural(first)?..natural(past)?, RunId::new(run));
        let lease = Lease { id, run, trials, epoch: natural(epoch)?, session, begun: natural(begun)? };
        Ok(Live { lease, run_key, granted_at })
    });
    live.collect()
}

/// A done trial of the leases of an epoch: the epoch, the run's key and the trial's number.
pub(crate) type Done = (u32, i64, u64);
pub(crate) type DoneRow = (i64, i64, i64);

pub(crate) fn done(rows: Vec<DoneRow>) -> Result<BTreeSet<Done>, Error> {
    rows.into_iter().map(|(epoch, run, number)| Ok((natural(epoch)?, run, natural(number)?))).collect()
}

/// The leases of a session without the trials that are done, each in as many ranges as that takes.
pub(crate) fn unfinished(live: Vec<Live>, done: &BTreeSet<Done>) -> Vec<Lease> {
    let mut lost = Vec::new();
    for Live { lease, run_key, .. } in live {
        let open = lease.trials.clone().filter(|number| !done.contains(&(lease.epoch, run_key, *number)));
        lost.extend(ranges::fold(open).into_iter().map(|trials| lease.part(trials)));
    }
    lost
}

/// What the release of trials changes.
#[derive(Default)]
pub(crate) struct Released {
    /// The changed leases, by id and first trial.
    pub(crate) cut: Vec<(u64, u64)>,
    /// The rest of these leases, and when they were granted.
    pub(crate) kept: Vec<(Lease, i64)>,
    /// The released trials that are not done: the run's key, number, epoch.
    pub(crate) given_up: Vec<(i64, u64, u32)>,
}

impl Released {
    pub(crate) fn of(live: Vec<Live>, done: &BTreeSet<Done>, released: &[Lease]) -> Self {
        let mut all = Self::default();
        for one in live {
            let left = ranges::without(&one.lease, released);
            if left == [one.lease.clone()] {
                continue;
            }
            let (id, epoch) = (one.lease.id, one.lease.epoch);
            let stays = |number: &u64| left.iter().any(|lease| lease.trials.contains(number));
            let is_done = |number: &u64| done.contains(&(epoch, one.run_key, *number));
            let open = one.lease.trials.clone().filter(|number| !stays(number) && !is_done(number));
            all.given_up.extend(open.map(|number| (one.run_key, number, epoch)));
            all.cut.push((id, one.lease.trials.start));
            all.kept.extend(left.into_iter().map(|lease| (lease, one.granted_at)));
        }
        all
    }
}

/// Session, id, first, past, run, epoch, granted at, begun: the order in which statements read them.
pub(crate) type Row<'a> = (i64, i64, i64, i64, &'a str, u32, i64, i64);

pub(crate) fn row(lease: &Lease, granted_at: i64) -> Result<Row<'_>, Error> {
    let (first, past) = (integer(lease.trials.start)?, integer(lease.trials.end)?);
    let (id, begun) = (integer(lease.id)?, integer(lease.begun)?);
    Ok((bound(lease.session), id, first, past, lease.run.as_str(), lease.epoch, granted_at, begun))
}
