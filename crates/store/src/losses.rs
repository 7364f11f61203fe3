//! Counts lost attempts by trial: how often, and with which session last.

use crate::Losses;

/// An attempt that did not end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lost {
    pub(crate) number: u64,
    pub(crate) session: u64,
    pub(crate) begun: bool,
    pub(crate) proof: bool,
    /// Its worker returned it and is still alive.
    pub(crate) given_up: bool,
}

/// Attempts by number and epoch, ascending. Attempts that were returned do not count.
pub(crate) fn fold(lost: impl IntoIterator<Item = Lost>) -> Vec<Losses> {
    let mut all: Vec<Losses> = Vec::new();
    for one in lost.into_iter().filter(|one| !one.given_up) {
        let (begun, proof) = (u32::from(one.begun), u32::from(one.proof));
        match all.last_mut() {
            Some(last) if last.number == one.number => {
                last.begun += begun;
                last.all += 1;
                last.proof += proof;
                last.session = one.session;
            }
            _ => all.push(Losses { number: one.number, begun, all: 1, proof, session: one.session }),
        }
    }
    all
}
