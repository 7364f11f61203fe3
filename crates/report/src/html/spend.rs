//! Tokens and cost by role and model, and what went wrong by kind and blame.

use record::{Blame, Summary, summary::FailureCount};
use serde::Serialize;

use crate::{
    figures::{self, count},
    spending, unreadable,
};

const UNREADABLE_SHOWN: usize = 100;

#[derive(Serialize)]
pub(super) struct Spend {
    rows: Vec<Row>,
    calls: String,
    input: String,
    output: String,
    cost: String,
    incomplete: Option<String>,
    preflight: Option<String>,
    estimated: Option<String>,
    unsettled: Option<String>,
    throttling: Vec<String>,
    agent_failures: Vec<Failure>,
    our_failures: Vec<Failure>,
    lost: Option<String>,
    replayed: Option<String>,
    unreadable: Vec<String>,
}

#[derive(Serialize)]
struct Row {
    role: &'static str,
    model: String,
    calls: String,
    input: String,
    output: String,
    cost: Option<String>,
}

#[derive(Serialize)]
struct Failure {
    kind: &'static str,
    blame: &'static str,
    trials: String,
}

impl Spend {
    pub(super) fn of(summary: &Summary) -> Self {
        let totals = &summary.summary;
        let rows = totals.models.iter().map(|line| Row {
            role: line.role.name(),
            model: line.model.clone(),
            calls: count(line.calls),
            input: spending::tokens(line, line.tokens.input),
            output: spending::tokens(line, line.tokens.output),
            cost: spending::cost(line),
        });
        let sum = |of: fn(&record::summary::ModelSpend) -> u64| count(totals.models.iter().map(of).sum());
        let (agent, ours): (Vec<_>, Vec<_>) = totals.failures.iter().partition(|failure| failure.blame == Blame::Agent);
        Self {
            rows: rows.collect(),
            calls: sum(|line| line.calls),
            input: spending::marked(totals.cost.estimated_calls, sum(|line| line.tokens.input)),
            output: spending::marked(totals.cost.estimated_calls, sum(|line| line.tokens.output)),
            cost: spending::total(totals),
            incomplete: spending::incomplete(totals),
            preflight: spending::preflight(totals),
            estimated: spending::estimated(totals),
            unsettled: spending::unsettled(totals),
            throttling: spending::throttling(totals),
            agent_failures: agent.into_iter().map(failure).collect(),
            our_failures: ours.into_iter().map(failure).collect(),
            lost: figures::lost(summary),
            replayed: figures::replayed(&totals.attempts),
            unreadable: unreadable::lines(summary, UNREADABLE_SHOWN),
        }
    }
}

fn failure(of: &FailureCount) -> Failure {
    Failure { kind: of.kind.name(), blame: of.blame.name(), trials: count(of.trials) }
}
