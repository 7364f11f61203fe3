//! The money of runs with a budget: hears what workers say of their slices, stores what they get, and stops a run whose
//! money is used up.

use record::{
    Usd,
    decision::{self, Decided},
};
use scenario::RunId;
use store::{Moved, Store};

use super::{
    Dispatcher, Error,
    active::Active,
    allocator::{Grant, Word},
    command::Order,
};
use crate::scheduler::Event;

impl<S: Store> Dispatcher<S> {
    /// A worker says what became of its slice, and what it needs.
    pub(super) async fn hear_money(&mut self, session: u64, run: &RunId, word: Word) -> Result<(), store::Error> {
        let account = word.account;
        let Some(active) = self.runs.get_mut(run) else {
            // The run ended long ago, and its report shows what came back.
            let known = self.store.run(run).await?.is_some_and(|row| row.max_cost.is_some());
            return if known { self.store.fund(run, session, account, Usd(0)).await.map(|_| ()) } else { Ok(()) };
        };
        let Some(money) = active.money.as_mut() else { return Ok(()) };
        if money.hear(session, word) {
            let slice = self.store.fund(run, session, account, Usd(0)).await?;
            money.stored(slice);
        }
        self.share_money(run).await
    }

    /// Gives money to workers that need some, and says what has changed. A grant is stored before it is sent.
    pub(super) async fn share_money(&mut self, run: &RunId) -> Result<(), store::Error> {
        let Some(active) = self.runs.get_mut(run) else { return Ok(()) };
        let is_running = active.is_running();
        let Some(money) = active.money.as_mut() else { return Ok(()) };
        if is_running {
            for Grant { session, granted } in money.grants() {
                fail::fail_point!("money-unstored");
                match self.store.fund(run, session, money.account(session), Usd(granted)).await {
                    Ok(slice) => {
                        fail::fail_point!("money-unsent");
                        money.stored(slice);
                    }
                    // Its end is on the way.
                    Err(store::Error::SessionOver(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            if money.judge() {
                self.out_of_money(run).await?;
            }
        }
        self.tell_money(run);
        Ok(())
    }

    pub(super) async fn share_all_money(&mut self) {
        let runs: Vec<RunId> =
            self.runs.iter().filter(|(_, run)| run.money.is_some()).map(|(id, _)| id.clone()).collect();
        for run in runs {
            if let Err(error) = self.share_money(&run).await {
                return self.store_failed(&error).await;
            }
        }
    }

    /// The worker may play the run from now on. It hears of the money before it gets trials.
    pub(super) fn joins_money(&mut self, session: u64, run: &RunId) {
        if let Some(money) = self.runs.get_mut(run).and_then(|active| active.money.as_mut()) {
            money.joins(session);
            self.tell_money(run);
        }
    }

    /// The worker has a new stream.
    pub(super) fn returns_to_money(&mut self, session: u64) {
        let runs: Vec<RunId> = self.runs.keys().cloned().collect();
        for run in runs {
            if let Some(money) = self.runs.get_mut(&run).and_then(|active| active.money.as_mut()) {
                money.returns(session);
                self.tell_money(&run);
            }
        }
    }

    /// The session is over: what it holds counts as spent.
    pub(super) fn leaves_money(&mut self, session: u64) {
        self.runs.values_mut().filter_map(|run| run.money.as_mut()).for_each(|money| money.over(session));
    }

    fn tell_money(&mut self, run: &RunId) {
        let money = self.runs.get_mut(run).and_then(|active| active.money.as_mut());
        for (session, funds) in money.map(|money| money.news()).unwrap_or_default() {
            self.links.send(session, Order::Funds { run: run.clone(), funds });
        }
    }

    async fn out_of_money(&mut self, run: &RunId) -> Result<(), store::Error> {
        let Some(money) = self.runs.get(run).and_then(|active| active.money.as_ref()) else { return Ok(()) };
        let reason = format!("its budget of {} is used up", money.max_cost());
        tracing::warn!(run = %run, reason, "the run is drained");
        self.decide(run, None, Decided::OutOfMoney { reason: reason.clone() }, Moved::default()).await?;
        if let Some(active) = self.runs.get_mut(run) {
            active.hopeless = Some(reason);
        }
        Box::pin(self.hear(Event::RunStopped { run: run.clone(), drain: true })).await;
        Ok(())
    }

    /// Why a run cannot be resumed with this budget.
    pub(super) fn refuses_budget(
        row: &store::RunRow,
        decisions: &[decision::Decision],
        max_cost: Option<Usd>,
    ) -> Option<String> {
        let run = &row.id;
        match (row.max_cost, max_cost) {
            (Some(now), Some(new)) if new < now => {
                Some(format!("run {run} has a budget of {now}, and a budget can only be raised"))
            }
            (Some(now), new) if decision::is_out_of_money(decisions) && new.is_none_or(|new| new <= now) => {
                Some(format!(
                    "run {run} has used up its budget of {now}; raise it with `gabfest resume {run} --max-cost USD`"
                ))
            }
            _ => None,
        }
    }

    /// Stores a larger budget of a run.
    pub(super) async fn set_budget(
        &mut self,
        run: &RunId,
        by: Option<&str>,
        max_cost: Usd,
    ) -> Result<(), store::Error> {
        let what = Decided::Budget { max_cost_usd: max_cost.dollars() };
        self.decide(run, by, what, Moved { max_cost: Some(max_cost), ..Moved::default() }).await?;
        if let Some(active) = self.runs.get_mut(run) {
            active.row.max_cost = Some(max_cost);
            if let Some(money) = &mut active.money {
                money.raise(max_cost.0);
            }
        }
        Ok(())
    }
}

impl Active {
    /// A running run gets a budget while workers play it without one.
    pub(super) fn refuses_first_budget(&self, max_cost: Option<Usd>) -> Result<(), Error> {
        if max_cost.is_some() && self.money.is_none() {
            let run = &self.row.id;
            let why =
                format!("run {run} is being played without a budget; `gabfest cancel {run} --drain` stops it first");
            return Err(Error::Refused(why));
        }
        Ok(())
    }
}
