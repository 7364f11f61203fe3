//! The conversations of the page, as chats with their judgments beside the turns.

mod chat;

use record::{Blame, Failure, Summary, Verdict, verdict};
use serde::Serialize;

use self::chat::{Finding, Turn};
use crate::{
    Selected, Selection, cases, clip,
    failure_place::FailurePlace,
    failures::{Group, group_of},
    figures::{self, count, usd},
    marks::Mark,
    matrix::Matrix,
    spending,
};

const HEADLINE_CHARS: usize = 160;

#[derive(Serialize)]
pub(super) struct Conversations {
    pub(super) failing: Vec<Conversation>,
    passing: Vec<Conversation>,
    /// The possible filters, with their counts.
    kinds: Vec<Kind>,
    left_out: Option<String>,
}

#[derive(Serialize)]
struct Kind {
    mark: Mark,
    count: String,
}

#[derive(Serialize)]
pub(super) struct Conversation {
    anchor: String,
    #[serde(skip)]
    pub(super) verdict: Verdict,
    mark: Mark,
    pub(super) name: String,
    headline: String,
    reason: Option<String>,
    failure_kind: Option<&'static str>,
    blame: Option<&'static str>,
    repeat: u32,
    /// The place of the failure.
    pub(super) place: Option<String>,
    failing_turn: Option<u32>,
    /// Whether one of `after` is the failure.
    at_the_end: bool,
    /// With its `#`.
    pub(super) failing_anchor: String,
    facts: Vec<Fact>,
    /// For copying.
    ids: Vec<Fact>,
    turns: Vec<Turn>,
    /// Of the conversation and its steps as a whole.
    after: Vec<Finding>,
    /// Its group of similar failures.
    group: Option<usize>,
    /// Its place in the table of scenarios and personas.
    row: Option<usize>,
    column: Option<usize>,
    case: u64,
}

#[derive(Serialize)]
struct Fact {
    name: &'static str,
    value: String,
}

impl Conversations {
    pub(super) fn of(summary: &Summary, selection: &Selection, groups: &[Group]) -> Self {
        let matrix = Matrix::of(&summary.cases);
        let (failing, passing) = selection.in_plan_order();
        let kinds = [Verdict::Fail, Verdict::Error, Verdict::Inconclusive].into_iter().filter_map(|verdict| {
            let number = failing.iter().filter(|selected| selected.trial.verdict == verdict).count();
            (number > 0).then(|| Kind { mark: Mark::of(verdict), count: count(number as u64) })
        });
        let left_out = selection.failing_seen() - failing.len() as u64;
        Self {
            kinds: kinds.collect(),
            failing: failing.iter().map(|selected| conversation(selected, summary, &matrix, groups)).collect(),
            passing: passing.iter().map(|selected| conversation(selected, summary, &matrix, groups)).collect(),
            left_out: (left_out > 0).then(|| count(left_out)),
        }
    }

    /// The first that failed; else the first that the agent broke; else the first that our side broke.
    pub(super) fn worst(&self) -> Option<&Conversation> {
        let agent = Some(Blame::Agent.name());
        self.failing
            .iter()
            .min_by_key(|of| (of.verdict != Verdict::Fail, of.blame != agent, of.verdict != Verdict::Error))
    }

    pub(super) fn of_group(&self, group: usize) -> Vec<&Conversation> {
        self.failing.iter().filter(|conversation| conversation.group == Some(group)).collect()
    }

    pub(super) fn first_of_cell(&self, row: usize, column: usize) -> Option<String> {
        self.first(|conversation| conversation.row == Some(row) && conversation.column == Some(column))
    }

    pub(super) fn first_of_case(&self, case: u64) -> Option<String> {
        self.first(|conversation| conversation.case == case)
    }

    fn first(&self, wanted: impl Fn(&Conversation) -> bool) -> Option<String> {
        let found = self.failing.iter().chain(&self.passing).find(|conversation| wanted(conversation));
        found.map(|conversation| format!("#{}", conversation.anchor))
    }
}

fn conversation(selected: &Selected, summary: &Summary, matrix: &Matrix, groups: &[Group]) -> Conversation {
    let trial = &selected.trial;
    let case = cases::find(summary, trial.case);
    let failure = trial.failure.as_ref();
    // From the number, because ids may have characters that are not valid in an anchor.
    let anchor = format!("t{}", trial.number);
    let failing_turn =
        failure.and_then(|failure| failure.turn).filter(|turn| selected.turns.iter().any(|of| of.number == *turn));
    let mut after = chat::after(selected);
    let at_the_end = failing_turn.is_none() && failure.is_some_and(|failure| mark_decisive(&mut after, failure));
    // The anchor is inside the conversation: a browser opens it to scroll there, without a script.
    let failing_anchor = match failing_turn {
        Some(turn) => format!("#{anchor}-turn-{turn}"),
        None if at_the_end => format!("#{anchor}-end"),
        None if failure.is_some() => format!("#{anchor}-reason"),
        None => format!("#{anchor}"),
    };
    let (row, column) = case.and_then(|case| matrix.place(case)).unzip();
    let reason = failure.map(|failure| failure.message.clone());
    Conversation {
        verdict: trial.verdict,
        mark: Mark::of(trial.verdict),
        name: match case {
            Some(case) if matrix.several_agents => cases::full_name(case),
            Some(case) => cases::name(case),
            None => format!("case {}", trial.case_id),
        },
        headline: reason.as_deref().map(|reason| clip::ellipsis(reason, HEADLINE_CHARS)).unwrap_or_default(),
        reason,
        failure_kind: failure.map(|failure| failure.kind.name()),
        blame: failure.map(|failure| failure.blame.name()),
        repeat: trial.repeat + 1,
        place: failure.map(|_| FailurePlace::of(trial).to_string()),
        failing_turn,
        failing_anchor,
        facts: facts(selected, case.map(|case| case.agent.as_str())),
        ids: vec![
            Fact { name: "trial", value: trial.trial_id.to_string() },
            Fact { name: "case", value: trial.case_id.to_string() },
            Fact { name: "seed", value: trial.seed.to_string() },
        ],
        turns: chat::turns(selected, &anchor, failing_turn),
        at_the_end,
        after,
        group: group_of(groups, trial, case),
        row,
        column,
        case: trial.case,
        anchor,
    }
}

/// Marks the finding that a failure was made of: `check: reason`, both perhaps cut.
fn mark_decisive(after: &mut [Finding], failure: &Failure) -> bool {
    let decisive = after.iter_mut().find(|finding| finding.is_told_by(&failure.message));
    decisive.map(|finding| finding.decisive = true).is_some()
}

fn facts(selected: &Selected, agent: Option<&str>) -> Vec<Fact> {
    let trial = &selected.trial;
    let mut facts = Vec::new();
    let mut fact = |name, value| facts.push(Fact { name, value });
    if let Some(agent) = agent {
        fact("agent", agent.to_owned());
    }
    fact("turns", trial.turns.to_string());
    fact("took", figures::millis(trial.duration_ms as f64));
    if let Some(score) = verdict::weighted_score(&trial.judgments) {
        fact("score by weight", figures::percent(score));
    }
    match (&trial.stop, &trial.termination_reason) {
        (Some(stop), _) => fact("ended by", format!("{}: {} after turn {}", stop.who.name(), stop.signal, stop.turn)),
        (None, Some(reason)) => fact("ended by", reason.clone()),
        (None, None) => {}
    }
    let dollars = trial.spend.cost().dollars();
    let cost = spending::marked(trial.spend.estimated_calls(), usd(dollars));
    let cost = match trial.spend.is_complete() {
        true => cost,
        false if dollars > 0.0 => format!("{cost} (incomplete)"),
        false => "unknown".to_owned(),
    };
    fact("cost", cost);
    if trial.epoch > 1 {
        fact("attempt", trial.epoch.to_string());
    }
    facts
}
