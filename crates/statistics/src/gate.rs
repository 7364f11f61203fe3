//! Whether a run may be released: its gates, and the verdict that they fold into.
//!
//! A gate that the agent broke is FAIL; one that cannot be decided, because trials were not judged or not
//! played, is INCONCLUSIVE. Our own faults never count against the agent.

use record::{
    summary::{Gate, RunVerdict},
    tally::Counts,
};

/// Cases that a reason names before it only counts them.
const NAMED_CASES: usize = 3;

/// What a plan asks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Required {
    /// The least share of trials that must pass over the whole run; `None`: every case passes.
    pub pass_rate: Option<f64>,
    /// The largest share of planned trials that may end without saying anything about the agent.
    pub max_unjudged: f64,
}

/// One case as gates see it.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// For reasons: what a person calls the case.
    pub name: String,
    pub planned: u64,
    pub counts: Counts,
    /// The least share of its trials that must pass; `None`: all of them.
    pub required_pass_rate: Option<f64>,
}

impl CaseResult {
    /// Trials that say nothing about the agent, or have not ended.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.counts.unjudged() + self.planned.saturating_sub(self.counts.ended())
    }

    /// FAIL where too many trials are held against the agent, else INCONCLUSIVE where some are missing.
    #[must_use]
    pub fn verdict(&self) -> RunVerdict {
        let against = self.counts.held_against_agent();
        let tolerated = self.required_pass_rate.is_some_and(|required| reaches(self.counts.pass, against, required));
        if against > 0 && !tolerated {
            RunVerdict::Fail
        } else if self.missing() > 0 || self.planned == 0 {
            RunVerdict::Inconclusive
        } else {
            RunVerdict::Pass
        }
    }
}

/// Every gate of the run, and what they say together. `without_judge`: trials that were skipped because no judge could be
/// asked, which no setting forgives.
#[must_use]
pub fn decide(required: Required, cases: &[CaseResult], without_judge: u64) -> (Vec<Gate>, RunVerdict) {
    let evidence = enough_evidence(required, cases);
    let enough = evidence.verdict == RunVerdict::Pass;
    let mut gates = Vec::with_capacity(4);
    match required.pass_rate {
        None => gates.push(every_case("every_case_passes", cases.iter(), enough)),
        Some(rate) => {
            gates.push(pass_rate(rate, cases));
            if cases.iter().any(|case| case.required_pass_rate.is_some()) {
                let own = cases.iter().filter(|case| case.required_pass_rate.is_some());
                gates.push(every_case("case_pass_rate", own, enough));
            }
        }
    }
    gates.push(evidence);
    if without_judge > 0 {
        gates.push(judge_available(without_judge));
    }
    let verdict = fold(gates.iter().map(|gate| gate.verdict));
    (gates, verdict)
}

/// FAIL before INCONCLUSIVE before PASS.
fn fold(verdicts: impl Iterator<Item = RunVerdict>) -> RunVerdict {
    verdicts.fold(RunVerdict::Pass, |sum, one| match (sum, one) {
        (RunVerdict::Fail, _) | (_, RunVerdict::Fail) => RunVerdict::Fail,
        (RunVerdict::Inconclusive, _) | (_, RunVerdict::Inconclusive) => RunVerdict::Inconclusive,
        (RunVerdict::Pass, RunVerdict::Pass) => RunVerdict::Pass,
    })
}

/// `enough`: the run as a whole has the evidence that was asked for, so single undecided cases are tolerated.
fn every_case<'a>(name: &str, cases: impl Iterator<Item = &'a CaseResult>, enough: bool) -> Gate {
    let (mut failed, mut undecided, mut all, mut allowed) = (Vec::new(), Vec::new(), 0_usize, 0);
    for case in cases {
        all += 1;
        match case.verdict() {
            RunVerdict::Pass => allowed += case.counts.held_against_agent(),
            RunVerdict::Fail => failed.push(case.name.as_str()),
            RunVerdict::Inconclusive => undecided.push(case.name.as_str()),
        }
    }
    let verdict = if !failed.is_empty() {
        RunVerdict::Fail
    } else if all == 0 || (!undecided.is_empty() && !enough) {
        RunVerdict::Inconclusive
    } else {
        RunVerdict::Pass
    };
    let mut found = Vec::new();
    if !failed.is_empty() {
        found.push(format!("{} failed ({})", failed.len(), some_of(&failed)));
    }
    if !undecided.is_empty() {
        found.push(format!("{} undecided ({})", undecided.len(), some_of(&undecided)));
    }
    let reason = match (all, found.is_empty()) {
        (0, _) => "there is no case".to_owned(),
        (1, true) => format!("the only case passed{}", within(allowed)),
        (_, true) => format!("all {all} cases passed{}", within(allowed)),
        (_, false) => format!("of {all} cases, {}", found.join(" and ")),
    };
    Gate { name: name.to_owned(), verdict, reason }
}

/// A case may pass although trials failed: then the reader is told why that is no contradiction.
fn within(failed: u64) -> String {
    match failed {
        0 => String::new(),
        1 => ", with 1 failed trial that its required_pass_rate allows".to_owned(),
        more => format!(", with {more} failed trials that their required_pass_rate allows"),
    }
}

fn pass_rate(required: f64, cases: &[CaseResult]) -> Gate {
    let pass: u64 = cases.iter().map(|case| case.counts.pass).sum();
    let against: u64 = cases.iter().map(|case| case.counts.held_against_agent()).sum();
    let judged = pass + against;
    let (verdict, found) = if judged == 0 {
        (RunVerdict::Inconclusive, "no trial was judged".to_owned())
    } else {
        let verdict = if reaches(pass, against, required) { RunVerdict::Pass } else { RunVerdict::Fail };
        let broken: u64 = cases.iter().map(|case| case.counts.agent_errors).sum();
        let of = if broken == 0 { String::new() } else { format!(", {broken} of them broken off by the agent") };
        (verdict, format!("{pass} of {judged} passed ({}{of})", percent(pass as f64 / judged as f64)))
    };
    Gate { name: "pass_rate".to_owned(), verdict, reason: format!("{found}, required {}", percent(required)) }
}

fn enough_evidence(required: Required, cases: &[CaseResult]) -> Gate {
    let planned: u64 = cases.iter().map(|case| case.planned).sum();
    let missing: u64 = cases.iter().map(CaseResult::missing).sum();
    let unplayed: u64 = cases.iter().map(|case| case.planned.saturating_sub(case.counts.ended())).sum();
    let broken: u64 = cases.iter().map(|case| case.counts.agent_errors).sum();
    let allowed = required.max_unjudged * planned as f64;
    let verdict = if missing >= planned || missing as f64 > allowed + SLACK {
        RunVerdict::Inconclusive
    } else {
        RunVerdict::Pass
    };
    let reason = match (planned, missing) {
        (0, _) => "nothing was planned".to_owned(),
        (_, _) if unplayed == planned => format!("none of {planned} trials was played"),
        (_, 0) if broken > 0 => {
            format!("all {planned} trials say something about the agent, which broke off {broken} of them")
        }
        (_, 0) => format!("all {planned} trials were judged"),
        (_, _) => format!(
            "{missing} of {planned} trials say nothing about the agent ({} not judged, {unplayed} not played), allowed {}",
            missing - unplayed,
            percent(required.max_unjudged)
        ),
    };
    Gate { name: "enough_evidence".to_owned(), verdict, reason }
}

/// Stands only where judges are missing: checks that nobody looked at must not look like checks that passed.
fn judge_available(without_judge: u64) -> Gate {
    let trials = if without_judge == 1 { "1 trial was".to_owned() } else { format!("{without_judge} trials were") };
    let reason = format!("{trials} skipped because no judge could be asked");
    Gate { name: "judge_available".to_owned(), verdict: RunVerdict::Inconclusive, reason }
}

/// 0.8 of 5 must be 4 although 0.8 x 5 is a little more in binary, and 0.67 of 3 is meant to be 2.
const SLACK: f64 = 0.02;

/// How many of so many trials a share stands for.
#[must_use]
pub fn required_of(trials: u64, share: f64) -> u64 {
    (share * trials as f64 - SLACK).ceil().max(0.0) as u64
}

fn reaches(pass: u64, against: u64, required: f64) -> bool {
    pass >= required_of(pass + against, required)
}

fn some_of(names: &[&str]) -> String {
    let mut text = names.iter().take(NAMED_CASES).copied().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED_CASES {
        text.push_str(&format!(" and {} more", names.len() - NAMED_CASES));
    }
    text
}

/// `95 %`, `99.5 %`: as few digits as say it.
fn percent(share: f64) -> String {
    let hundredths = (share * 10_000.0).round() / 100.0;
    format!("{hundredths} %")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PASS: RunVerdict = RunVerdict::Pass;
    const FAIL: RunVerdict = RunVerdict::Fail;
    const OPEN: RunVerdict = RunVerdict::Inconclusive;

    fn case(
        planned: u64,
        pass: u64,
        fail: u64,
        inconclusive: u64,
        agent_errors: u64,
        required: Option<f64>,
    ) -> CaseResult {
        let counts = Counts { pass, fail, inconclusive, error: agent_errors, agent_errors, ..Counts::default() };
        CaseResult { name: "refund".into(), planned, counts, required_pass_rate: required }
    }

    #[test]
    fn a_case_fails_by_the_agent_and_is_open_by_everything_else() {
        let rows = [
            (case(3, 3, 0, 0, 0, None), PASS),
            (case(3, 2, 1, 0, 0, None), FAIL),
            (case(3, 2, 0, 0, 1, None), FAIL),
            (case(3, 2, 0, 1, 0, None), OPEN),
            (case(3, 2, 0, 0, 0, None), OPEN),
            (case(3, 1, 1, 1, 0, None), FAIL),
            (case(0, 0, 0, 0, 0, None), OPEN),
            (case(5, 4, 1, 0, 0, Some(0.8)), PASS),
            (case(5, 3, 2, 0, 0, Some(0.8)), FAIL),
            (case(5, 4, 0, 0, 1, Some(0.8)), PASS),
            (case(5, 3, 1, 0, 1, Some(0.8)), FAIL),
            (case(5, 3, 0, 2, 0, Some(0.8)), OPEN),
            (case(10, 7, 3, 0, 0, Some(0.7)), PASS),
        ];
        for (case, verdict) in rows {
            assert_eq!(case.verdict(), verdict, "{case:?}");
        }
    }

    #[test]
    fn our_own_errors_are_open_and_not_failed() {
        let mut ours = case(2, 1, 0, 0, 0, None);
        ours.counts.error = 1;
        assert_eq!(ours.verdict(), OPEN);
    }

    #[test]
    fn the_run_is_decided_by_its_gates() {
        let default = Required::default();
        let rate = |pass_rate: f64| Required { pass_rate: Some(pass_rate), max_unjudged: 0.0 };
        let lenient = Required { pass_rate: None, max_unjudged: 0.5 };
        type Row = (&'static str, Required, Vec<CaseResult>, RunVerdict, Vec<(&'static str, RunVerdict)>);
        let rows: Vec<Row> = vec![
            ("nothing planned", default, vec![], OPEN, vec![("every_case_passes", OPEN), ("enough_evidence", OPEN)]),
            (
                "nothing played",
                lenient,
                vec![case(3, 0, 0, 0, 0, None)],
                OPEN,
                vec![("every_case_passes", OPEN), ("enough_evidence", OPEN)],
            ),
            (
                "all passed",
                default,
                vec![case(2, 2, 0, 0, 0, None), case(1, 1, 0, 0, 0, None)],
                PASS,
                vec![("every_case_passes", PASS), ("enough_evidence", PASS)],
            ),
            (
                "a failure outweighs missing evidence",
                default,
                vec![case(2, 1, 1, 0, 0, None), case(2, 0, 0, 2, 0, None)],
                FAIL,
                vec![("every_case_passes", FAIL), ("enough_evidence", OPEN)],
            ),
            (
                "missing evidence that is allowed",
                lenient,
                vec![case(2, 2, 0, 0, 0, None), case(2, 1, 0, 1, 0, None)],
                PASS,
                vec![("every_case_passes", PASS), ("enough_evidence", PASS)],
            ),
            (
                "nothing judged is never enough",
                Required { pass_rate: None, max_unjudged: 1.0 },
                vec![case(2, 0, 0, 2, 0, None)],
                OPEN,
                vec![("every_case_passes", OPEN), ("enough_evidence", OPEN)],
            ),
            (
                "a rate that is met forgives failures",
                rate(0.75),
                vec![case(4, 3, 1, 0, 0, None)],
                PASS,
                vec![("pass_rate", PASS), ("enough_evidence", PASS)],
            ),
            (
                "a collapsing agent cannot hide behind errors",
                rate(0.75),
                vec![case(4, 2, 0, 0, 2, None)],
                FAIL,
                vec![("pass_rate", FAIL), ("enough_evidence", PASS)],
            ),
            (
                "a case's own rate stands beside the run's",
                rate(0.5),
                vec![case(4, 4, 0, 0, 0, None), case(4, 2, 2, 0, 0, Some(0.75))],
                FAIL,
                vec![("pass_rate", PASS), ("case_pass_rate", FAIL), ("enough_evidence", PASS)],
            ),
        ];
        for (name, required, cases, verdict, gates) in rows {
            let (found, run) = decide(required, &cases, 0);
            assert_eq!(run, verdict, "{name}: {found:?}");
            let found: Vec<_> = found.iter().map(|gate| (gate.name.as_str(), gate.verdict)).collect();
            assert_eq!(found, gates, "{name}");
        }
    }

    #[test]
    fn reasons_say_what_was_found_and_what_was_asked() {
        let many: Vec<CaseResult> = (0..5).map(|_| case(2, 1, 1, 0, 0, None)).collect();
        let (gates, _) = decide(Required::default(), &many, 0);
        assert_eq!(gates[0].reason, "of 5 cases, 5 failed (refund, refund, refund and 2 more)");
        let half = [case(4, 1, 1, 1, 0, None)];
        let (gates, _) = decide(Required { pass_rate: Some(0.955), max_unjudged: 0.1 }, &half, 0);
        assert_eq!(gates[0].reason, "1 of 2 passed (50 %), required 95.5 %");
        assert_eq!(
            gates[1].reason,
            "2 of 4 trials say nothing about the agent (1 not judged, 1 not played), allowed 10 %"
        );
    }

    #[test]
    fn a_missing_judge_is_never_forgiven() {
        let lenient = Required { pass_rate: Some(0.5), max_unjudged: 0.9 };
        let skipped = |pass, fail| {
            let counts = Counts { pass, fail, skipped: 2, ..Counts::default() };
            [CaseResult { name: "refund".into(), planned: 2 + pass + fail, counts, required_pass_rate: None }]
        };
        assert_eq!(decide(lenient, &skipped(2, 0), 0).1, PASS, "programs that were not allowed may be forgiven");
        let (gates, verdict) = decide(lenient, &skipped(2, 0), 2);
        assert_eq!(verdict, OPEN);
        assert_eq!(gates[2].reason, "2 trials were skipped because no judge could be asked");
        assert_eq!(decide(lenient, &skipped(0, 2), 2).1, FAIL, "what was judged still counts");
    }

    proptest! {
        #[test]
        fn a_run_with_a_failed_case_never_passes_and_one_with_only_passes_does(
            counts in proptest::collection::vec((0_u64..4, 0_u64..4, 0_u64..4, 0_u64..4), 1..8),
            max_unjudged in 0.0_f64..=1.0,
        ) {
            let cases: Vec<_> = counts.iter().map(|(pass, fail, open, errors)| {
                case(pass + fail + open + errors, *pass, *fail, *open, *errors, None)
            }).collect();
            let (_, verdict) = decide(Required { pass_rate: None, max_unjudged }, &cases, 0);
            let against: u64 = counts.iter().map(|(_, fail, _, errors)| fail + errors).sum();
            prop_assert_eq!(verdict == FAIL, against > 0);
            let all_pass = counts.iter().all(|(pass, fail, open, errors)| *pass > 0 && fail + open + errors == 0);
            prop_assert!(!all_pass || verdict == PASS);
            let nothing = counts.iter().all(|(pass, ..)| *pass == 0) && against == 0;
            prop_assert!(!nothing || verdict == OPEN);
        }
    }
}
