//! The money of a run that has a `max_cost`: slices of it that sessions hold, and what became of them.
//!
//! All that a session got counts as spent until the session gives it back, so neither a killed worker nor a killed
//! coordinator makes a run cost more. What a session that is over has not given back and no batch names is *unsettled*.

use record::Usd;

/// What a session says about its slice of a run's money. The sums only grow, so an old account changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// All that the session gave back.
    pub returned: Usd,
    /// All that its calls cost, or may have cost.
    pub charged: Usd,
}

/// The part of a run's money that one session holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slice {
    pub session: u64,
    /// All that it got.
    pub granted: Usd,
    pub returned: Usd,
    pub charged: Usd,
    /// The cost of the calls in its committed batches.
    pub settled: Usd,
    /// The session lives.
    pub open: bool,
}

/// The money of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    /// The most that the run may cost; `None`: it has no budget.
    pub max_cost: Option<Usd>,
    /// Spent or unsettled without a slice: the preflight, and what was played before the run had a budget. 0 without a
    /// budget.
    pub besides: Usd,
    /// By session.
    pub slices: Vec<Slice>,
}

impl Slice {
    /// Takes what the session says of it.
    pub fn hear(&mut self, account: Account) {
        self.returned = self.returned.max(account.returned).min(self.granted);
        self.charged = self.charged.max(account.charged);
    }

    /// What counts as spent of the budget. More was charged than granted only if a provider counted more tokens than a text
    /// has bytes.
    #[must_use]
    pub fn taken(&self) -> Usd {
        Usd((self.granted.0.saturating_sub(self.returned.0)).max(self.settled.0).max(self.charged.0))
    }

    /// What may have been spent without a call in a batch that says so.
    #[must_use]
    pub fn unsettled(&self) -> Usd {
        let bound = if self.open { self.charged } else { self.taken() };
        Usd(bound.0.saturating_sub(self.settled.0).max(0))
    }

    /// What a living session holds, for calls in flight and calls to come.
    #[must_use]
    pub fn reserved(&self) -> Usd {
        let charged = self.charged.0.max(self.settled.0);
        if self.open { Usd(self.taken().0.saturating_sub(charged)) } else { Usd(0) }
    }
}

impl Ledger {
    /// `unsettled`: of sessions without a slice. `costs`: of all calls.
    pub fn of(max_cost: Option<Usd>, unsettled: Usd, costs: Usd, slices: Vec<Slice>) -> Self {
        if max_cost.is_none() {
            return Self { slices, ..Self::default() };
        }
        let settled: Usd = slices.iter().map(|slice| slice.settled).sum();
        Self { max_cost, besides: Usd(unsettled.0.saturating_add(costs.0.saturating_sub(settled.0).max(0))), slices }
    }

    /// The slice of a living session with what it says now, and with `granted` in all if the budget covers that.
    pub fn raised(&self, session: u64, account: Account, granted: Usd) -> Slice {
        let new = Slice { session, open: true, ..Slice::default() };
        let mut slice = self.slice(session).copied().unwrap_or(new);
        let others = self.taken().0.saturating_sub(slice.taken().0);
        slice.hear(account);
        let raised = Slice { granted: slice.granted.max(granted), ..slice };
        let is_covered = self.max_cost.is_some_and(|most| others.saturating_add(raised.taken().0) <= most.0);
        if is_covered { raised } else { slice }
    }

    /// What counts as spent of the budget.
    #[must_use]
    pub fn taken(&self) -> Usd {
        self.slices.iter().fold(self.besides, |sum, slice| sum + slice.taken())
    }

    /// What may still be granted; 0 without a budget.
    #[must_use]
    pub fn left(&self) -> Usd {
        self.max_cost.map_or(Usd(0), |most| Usd(most.0.saturating_sub(self.taken().0).max(0)))
    }

    #[must_use]
    pub fn reserved(&self) -> Usd {
        self.slices.iter().map(Slice::reserved).sum()
    }

    /// Of sessions that have a slice.
    #[must_use]
    pub fn unsettled(&self) -> Usd {
        self.slices.iter().map(Slice::unsettled).sum()
    }

    #[must_use]
    pub fn slice(&self, session: u64) -> Option<&Slice> {
        self.slices.iter().find(|slice| slice.session == session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_budget_is_in_one_sum() {
        let slice = |session, granted, returned, charged, settled, open| {
            let [granted, returned, charged, settled] = [granted, returned, charged, settled].map(Usd);
            Slice { session, granted, returned, charged, settled, open }
        };
        let rows = [
            // It lives: 20 of the 70 that it holds are spent, 5 of them in no batch.
            (slice(1, 100, 30, 20, 15, true), (70, 50, 5)),
            // It was killed: all that it held may be spent.
            (slice(2, 100, 30, 20, 15, false), (70, 0, 55)),
            // It left: what was charged without a known cost stays.
            (slice(3, 100, 80, 20, 15, false), (20, 0, 5)),
            // A batch came before the word on it.
            (slice(4, 100, 0, 0, 15, true), (100, 85, 0)),
            // A provider counted more tokens than bytes.
            (slice(5, 10, 0, 12, 12, true), (12, 0, 0)),
        ];
        let mut ledger = Ledger { max_cost: Some(Usd(400)), besides: Usd(7), slices: Vec::new() };
        for (slice, (taken, reserved, unsettled)) in rows {
            let found = (slice.taken().0, slice.reserved().0, slice.unsettled().0);
            assert_eq!(found, (taken, reserved, unsettled), "{slice:?}");
            ledger.slices.push(slice);
        }
        assert_eq!((ledger.taken(), ledger.left()), (Usd(279), Usd(121)));
        let settled: Usd = ledger.slices.iter().map(|slice| slice.settled).sum();
        assert_eq!(ledger.besides + settled + ledger.reserved() + ledger.unsettled(), ledger.taken());
        assert_eq!(Ledger { max_cost: Some(Usd(200)), ..ledger }.left(), Usd(0));
    }
}
