//! The gates of a run, and the verdict that they give.
//!
//! One rule decides every requirement of the run and of a case. *Missing* trials are planned trials without a result about the
//! agent, or ones that have not ended.
//!
//! - FAIL, if the requirement would not hold even if every missing and every *doubtful* trial passed. A doubtful trial is a
//!   failure of the agent in a replay of a trial that our side broke. A requirement without tolerance also fails by a doubtful
//!   trial, because the agent did fail.
//! - PASS, if the requirement would hold even if every missing trial failed.
//! - Otherwise INCONCLUSIVE: our own faults never count against the agent or for it.
//!
//! A trial that failed and passed in a requested replay counts as failed.
//!
//! `max_unjudged` tolerates missing trials: up to this share, gates ignore missing trials and apply the requirement to the
//! others. It never tolerates a case without any result, or trials that were not played or that a used-up quota broke: such a
//! run is not finished.

use record::{
    Summary, share,
    summary::{Gate, RunVerdict},
    tally::Counts,
};

use crate::clopper_pearson::{shows_at_least, shows_less, upper_bound};

mod flaky;
mod odds;
mod planned;
mod rates;

pub use flaky::flaky_cases;
pub use odds::{Odds, Planned, least_passes, most_failing_passes, odds};
pub use planned::{PlannedGate, and_rates, decide_all, planned_gates, required};
pub use rates::{CaseParts, success_rate};

/// A run has cases. Those in quarantine are none of the gates', and of a load those that were not played.
const NO_CASE: &str = "no case counts: none was played, or all are in quarantine";
/// The number of cases that a reason lists by name.
const NAMED_CASES: usize = 3;

/// The requirements of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Required {
    /// The minimum success rate of the whole run; `None`: every trial of every case must pass.
    pub pass_rate: Option<f64>,
    /// The floor of every case without its own rate; `None`: half of `pass_rate`, and without that every trial must pass.
    pub case_pass_rate: Option<f64>,
    /// The largest share of planned trials that may be missing.
    pub max_unjudged: f64,
    /// The number of cases that can be without any result about the agent.
    pub max_unjudged_cases: u64,
}

/// Missing trials that no setting tolerates, in addition to those that were not played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unforgivable {
    /// Skipped because of a missing judge.
    pub without_judge: u64,
    /// Broken by a used-up quota: the run is not finished, and a resume plays them.
    pub out_of_quota: u64,
}

/// The input of the gates for one case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// The case's name in reasons.
    pub name: String,
    pub planned: u64,
    pub counts: Counts,
    /// The case's own minimum success rate.
    pub required_pass_rate: Option<f64>,
}

/// The result of the gates.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub gates: Vec<Gate>,
    pub verdict: RunVerdict,
    /// One verdict for each case, in order.
    pub cases: Vec<RunVerdict>,
}

/// A requirement on the trials of a case or of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asked {
    /// At least this share must pass.
    Rate(f64),
    /// The 95 % upper bound of the success rate must not be below this share.
    Floor(f64),
    /// The lower bound of the success rate must reach this share. It is broken if the upper bound is below it, and undecided in
    /// between.
    Shown { least: f64, confidence: f64 },
}

impl Asked {
    fn holds(self, pass: u64, n: u64) -> bool {
        match self {
            Self::Rate(rate) => pass >= share::least_of(rate, n),
            // The estimate is a cheap first test: the bound is never below it.
            Self::Floor(floor) => pass as f64 >= floor * n as f64 || upper_bound(pass, n) >= floor,
            Self::Shown { least, confidence } => shows_at_least(pass, n, least, confidence),
        }
    }

    /// So many passes show that it does not hold.
    fn is_broken(self, pass: u64, n: u64) -> bool {
        match self {
            Self::Rate(_) | Self::Floor(_) => !self.holds(pass, n),
            Self::Shown { least, confidence } => shows_less(pass, n, least, confidence),
        }
    }

    fn allows_failures(self) -> bool {
        !matches!(self, Self::Rate(rate) if rate >= 1.0)
    }

    /// The rule above, for any requirement.
    fn verdict(self, counts: &Counts, planned: u64, forgiven: bool) -> RunVerdict {
        let missing = counts.missing(planned);
        let all = counts.conclusive() + missing;
        let of = if forgiven { counts.conclusive() } else { all };
        let doubtful = if self.allows_failures() { counts.doubtful } else { 0 };
        if self.is_broken(counts.pass + missing + doubtful, all) {
            RunVerdict::Fail
        } else if counts.conclusive() > 0 && self.holds(counts.pass, of) {
            RunVerdict::Pass
        } else {
            RunVerdict::Inconclusive
        }
    }
}

impl Required {
    /// The requirement of this case.
    fn of(&self, case: &CaseResult) -> Asked {
        let floor = self.case_pass_rate.or(self.pass_rate.map(|rate| rate / 2.0));
        case.required_pass_rate.map_or_else(|| floor.map_or(Asked::Rate(1.0), Asked::Floor), Asked::Rate)
    }

    /// Whether missing trials are tolerated: `max_unjudged` allows so many, and all trials were played.
    #[must_use]
    pub fn forgives(self, cases: &[CaseResult], never: Unforgivable) -> bool {
        let (total, planned) = total_of(cases);
        let missing = total.missing(planned);
        let is_over = total.ended() >= planned && never.out_of_quota == 0;
        is_over && missing < planned && share::allows(self.max_unjudged, missing, planned)
    }
}

/// The counts of all cases, and their planned trials.
fn total_of(cases: &[CaseResult]) -> (Counts, u64) {
    let mut total = Counts::default();
    cases.iter().for_each(|case| total.merge(&case.counts));
    (total, cases.iter().map(|case| case.planned).sum())
}

/// Every gate of the run, and their overall verdict.
#[must_use]
pub fn decide(required: Required, cases: &[CaseResult], never: Unforgivable) -> Decision {
    let (total, planned) = total_of(cases);
    let forgiven = required.forgives(cases, never);
    let asked: Vec<Asked> = cases.iter().map(|case| required.of(case)).collect();
    let verdicts: Vec<RunVerdict> =
        cases.iter().zip(&asked).map(|(case, asked)| asked.verdict(&case.counts, case.planned, forgiven)).collect();
    let unjudged: Vec<&str> =
        cases.iter().filter(|case| case.counts.conclusive() == 0).map(|case| case.name.as_str()).collect();
    let judged = unjudged.is_empty() || (forgiven && unjudged.len() as u64 <= required.max_unjudged_cases);

    let mut gates = Vec::with_capacity(5);
    if let Some(rate) = required.pass_rate {
        gates.push(pass_rate(rate, &total, planned, forgiven));
    }
    let has_floor = required.pass_rate.or(required.case_pass_rate).is_some();
    let name = if has_floor { "case_pass_rate" } else { "every_case_passes" };
    gates.push(every_case(name, cases, &asked, &verdicts, judged));
    gates.push(enough_evidence(required.max_unjudged, &total, planned, never.out_of_quota));
    gates.push(every_case_judged(required.max_unjudged_cases, cases.len(), &unjudged));
    if never.without_judge > 0 {
        gates.push(judge_available(never.without_judge));
    }
    let verdict = fold(gates.iter().map(|gate| gate.verdict));
    Decision { gates, verdict, cases: verdicts }
}

/// Only whether there is evidence: for a run whose success is judged step by step, as a search does.
#[must_use]
pub fn evidence(required: Required, cases: &[CaseResult], never: Unforgivable) -> Decision {
    let any = Required { pass_rate: Some(0.0), case_pass_rate: Some(0.0), ..required };
    let cases: Vec<CaseResult> =
        cases.iter().map(|case| CaseResult { required_pass_rate: None, ..case.clone() }).collect();
    let mut decision = decide(any, &cases, never);
    decision.gates.retain(|gate| !matches!(gate.name.as_str(), "pass_rate" | "case_pass_rate"));
    decision.verdict = fold(decision.gates.iter().map(|gate| gate.verdict));
    decision
}

impl Decision {
    /// The decision with one gate more.
    #[must_use]
    pub fn and(mut self, gate: Gate) -> Self {
        self.verdict = fold([self.verdict, gate.verdict].into_iter());
        self.gates.push(gate);
        self
    }

    /// The decision with one gate more that also says something about each case.
    #[must_use]
    pub fn and_of_cases(mut self, gate: Gate, cases: &[RunVerdict]) -> Self {
        for (case, found) in self.cases.iter_mut().zip(cases) {
            *case = fold([*case, *found].into_iter());
        }
        self.and(gate)
    }
}

/// The run with one gate more, or with this one in the place of that of the same name.
pub fn add(summary: &mut Summary, gate: Gate) {
    summary.gates.retain(|other| other.name != gate.name);
    summary.verdict = fold([summary.verdict, gate.verdict].into_iter());
    summary.gates.push(gate);
}

/// The share of trials in which the agent got a critical fault of the simulated user is at most `allowed`. Such faults are ours,
/// so the gate is never FAIL.
#[must_use]
pub fn simulator_faults(allowed: f64, faulty: u64, trials: u64) -> Gate {
    let holds = share::allows(allowed, faulty, trials);
    let verdict = if holds { RunVerdict::Pass } else { RunVerdict::Inconclusive };
    let reason = match trials {
        0 => "no trial has a simulated user".to_owned(),
        all => format!(
            "the simulated user was at fault in {faulty} of {} ({}), allowed {}",
            self::trials(all),
            percent(faulty as f64 / all as f64),
            percent(allowed)
        ),
    };
    Gate { name: "max_simulator_faults".to_owned(), verdict, reason }
}

/// FAIL before INCONCLUSIVE before PASS.
fn fold(verdicts: impl Iterator<Item = RunVerdict>) -> RunVerdict {
    verdicts.fold(RunVerdict::Pass, |sum, one| match (sum, one) {
        (RunVerdict::Fail, _) | (_, RunVerdict::Fail) => RunVerdict::Fail,
        (RunVerdict::Inconclusive, _) | (_, RunVerdict::Inconclusive) => RunVerdict::Inconclusive,
        (RunVerdict::Pass, RunVerdict::Pass) => RunVerdict::Pass,
    })
}

/// `judged`: enough cases have a result, so the others are tolerated.
fn every_case(name: &str, cases: &[CaseResult], asked: &[Asked], verdicts: &[RunVerdict], judged: bool) -> Gate {
    let (mut failed, mut undecided, mut allowed) = (Vec::new(), Vec::new(), 0);
    for ((case, asked), verdict) in cases.iter().zip(asked).zip(verdicts) {
        match verdict {
            RunVerdict::Pass => allowed += case.counts.held_against_agent(),
            RunVerdict::Fail => failed.push(broken(case, *asked)),
            RunVerdict::Inconclusive if judged && case.counts.conclusive() == 0 => {}
            RunVerdict::Inconclusive => undecided.push(case.name.clone()),
        }
    }
    let verdict = match (failed.is_empty(), undecided.is_empty()) {
        (false, _) => RunVerdict::Fail,
        (true, true) if !cases.is_empty() => RunVerdict::Pass,
        _ => RunVerdict::Inconclusive,
    };
    let mut found = Vec::new();
    if !failed.is_empty() {
        found.push(format!("{} failed ({})", failed.len(), some_of(&failed)));
    }
    if !undecided.is_empty() {
        found.push(format!("{} undecided ({})", undecided.len(), some_of(&undecided)));
    }
    let open = verdicts.iter().filter(|verdict| **verdict == RunVerdict::Inconclusive).count();
    let reason = match (cases.len(), found.is_empty()) {
        (0, _) => NO_CASE.to_owned(),
        (1, true) => format!("the only case passed{}", within(allowed)),
        (all, true) if open > 0 => format!("{} of {all} cases passed{}", all - open, within(allowed)),
        (all, true) => format!("all {all} cases passed{}", within(allowed)),
        (1, false) => format!("of 1 case, {}", found.join(" and ")),
        (all, false) => format!("of {all} cases, {}", found.join(" and ")),
    };
    Gate { name: name.to_owned(), verdict, reason }
}

/// `refund: 0 of 20 passed, so at most 13.91 %, floor 47.5 %`; only the name where every trial must pass.
fn broken(case: &CaseResult, asked: Asked) -> String {
    let (name, pass, n) = (&case.name, case.counts.pass, case.counts.conclusive());
    match asked {
        Asked::Rate(rate) if rate >= 1.0 => name.clone(),
        Asked::Rate(rate) => format!("{name}: {pass} of {n} passed, required {}", percent(rate)),
        Asked::Floor(least) | Asked::Shown { least, .. } => {
            let most = percent(upper_bound(pass, n));
            format!("{name}: {pass} of {n} passed, so at most {most}, floor {}", percent(least))
        }
    }
}

/// A case can pass although trials failed. The reason explains it.
fn within(failed: u64) -> String {
    match failed {
        0 => String::new(),
        1 => ", with 1 failed trial that the required rates allow".to_owned(),
        more => format!(", with {more} failed trials that the required rates allow"),
    }
}

fn pass_rate(required: f64, total: &Counts, planned: u64, forgiven: bool) -> Gate {
    let verdict = Asked::Rate(required).verdict(total, planned, forgiven);
    let (passed, missing) = (passed(total), missed(total, planned, forgiven));
    let passed = if planned == 0 { NO_CASE.to_owned() } else { passed };
    let reason = format!("{passed}{missing}, required {} by point", percent(required));
    Gate { name: "pass_rate".to_owned(), verdict, reason }
}

/// `19 of 20 passed (95 %)`, and what counts as failed without a FAIL.
fn passed(total: &Counts) -> String {
    let (pass, n) = (total.pass, total.conclusive());
    if n == 0 {
        return "no trial was judged".to_owned();
    }
    let broken = match total.agent_errors {
        0 => String::new(),
        errors => format!(", {errors} ended with an error of the agent"),
    };
    let replayed = match total.replayed_failures {
        0 => String::new(),
        replayed => format!(", {replayed} failed and did not when played again, which counts as failed"),
    };
    let doubtful = match total.doubtful {
        0 => String::new(),
        doubtful => format!(", {doubtful} failed only after our side broke an attempt, which might have passed"),
    };
    format!("{pass} of {n} passed ({}){broken}{replayed}{doubtful}", percent(pass as f64 / n as f64))
}

/// `, 2 of 20 missing`; empty if none is.
fn missed(total: &Counts, planned: u64, forgiven: bool) -> String {
    match total.missing(planned) {
        0 => String::new(),
        missing if forgiven => format!(", {missing} of {planned} missing and forgiven"),
        missing => format!(", {missing} of {planned} missing"),
    }
}

fn enough_evidence(allowed: f64, total: &Counts, planned: u64, out_of_quota: u64) -> Gate {
    let missing = total.missing(planned);
    let unplayed = planned.saturating_sub(total.ended());
    let few = missing < planned && share::allows(allowed, missing, planned);
    let verdict = if few && unplayed == 0 && out_of_quota == 0 { RunVerdict::Pass } else { RunVerdict::Inconclusive };
    let reason = match (planned, missing) {
        (0, _) => "no trial counts".to_owned(),
        (_, _) if unplayed == planned => format!("none of {} was played", trials(planned)),
        (_, 0) if total.agent_errors > 0 => {
            let all = if planned == 1 { "the only trial says".to_owned() } else { format!("all {planned} trials say") };
            format!("{all} something about the agent, {} by an error of the agent", total.agent_errors)
        }
        (1, 0) => "the only trial was judged".to_owned(),
        (_, 0) => format!("all {planned} trials were judged"),
        (_, _) => format!(
            "{missing} of {} {} nothing about the agent ({} not judged, {unplayed} not played), allowed {}{}",
            trials(planned),
            if missing == 1 { "says" } else { "say" },
            missing.saturating_sub(unplayed),
            percent(allowed),
            match (unplayed, out_of_quota) {
                (_, 1..) if few => " once the trials that a used-up quota broke have been played",
                (1.., 0) if few => " once all trials have been played",
                _ => "",
            }
        ),
    };
    Gate { name: "enough_evidence".to_owned(), verdict, reason }
}

fn every_case_judged(allowed: u64, all: usize, unjudged: &[&str]) -> Gate {
    let enough = all > 0 && unjudged.len() < all && unjudged.len() as u64 <= allowed;
    let verdict = if enough { RunVerdict::Pass } else { RunVerdict::Inconclusive };
    let cases = if all == 1 { "1 case".to_owned() } else { format!("{all} cases") };
    let reason = match (all, unjudged.len()) {
        (0, _) => NO_CASE.to_owned(),
        (1, 0) => "the only case has a judged trial".to_owned(),
        (_, 0) => format!("each of {cases} has a judged trial"),
        (_, 1) => format!("1 of {cases} has no judged trial ({}), allowed {allowed}", some_of(unjudged)),
        (_, many) => format!("{many} of {cases} have no judged trial ({}), allowed {allowed}", some_of(unjudged)),
    };
    Gate { name: "every_case_judged".to_owned(), verdict, reason }
}

/// Exists only if judges are missing: unjudged checks must not look like passed ones.
#[must_use]
pub fn judge_available(without_judge: u64) -> Gate {
    let were = if without_judge == 1 { "was" } else { "were" };
    let reason = format!("{} {were} skipped because no judge could be asked", trials(without_judge));
    Gate { name: "judge_available".to_owned(), verdict: RunVerdict::Inconclusive, reason }
}

fn trials(number: u64) -> String {
    if number == 1 { "1 trial".to_owned() } else { format!("{number} trials") }
}

fn some_of<Name: AsRef<str>>(names: &[Name]) -> String {
    let mut text = names.iter().take(NAMED_CASES).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED_CASES {
        text.push_str(&format!(" and {} more", names.len() - NAMED_CASES));
    }
    text
}

/// `95 %`, `99.5 %`: as few digits as possible.
fn percent(share: f64) -> String {
    let hundredths = (share * 10_000.0).round() / 100.0;
    format!("{hundredths} %")
}

#[cfg(test)]
mod tests;
