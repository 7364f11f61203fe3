//! Gates on success rates: of the whole run, or of each of its parts; by the rate itself, or by its lower bound.
//!
//! By the bound, PASS and FAIL each have a stated chance of error. PASS: the lower bound reaches the least rate, so if the rate
//! were lower, so many passes would come in at most 5 % of runs (with a confidence of 95 %). FAIL: the upper bound is below it.
//! In between the trials are too few to tell, and the verdict is INCONCLUSIVE.

use std::collections::BTreeMap;

use record::{
    summary::{Gate, RunVerdict},
    tally::Counts,
};
use scenario::plan::{RateBy, RateGate, RatePer};

use super::{Asked, CaseResult, fold, missed, passed, percent, some_of};
use crate::clopper_pearson::{fewest_trials, lower_bound_at, upper_bound_at};

/// What a case belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaseParts {
    pub scenario: String,
    /// The folder of the scenario's file.
    pub suite: String,
    pub tags: Vec<String>,
    pub persona: Option<String>,
    pub agent: String,
}

/// The trials that one rate is made of.
#[derive(Debug, Default)]
struct Part {
    planned: u64,
    counts: Counts,
}

impl From<RateGate> for Asked {
    fn from(gate: RateGate) -> Self {
        match gate.by {
            RateBy::Point => Self::Rate(gate.min),
            RateBy::Bound(confidence) => Self::Shown { least: gate.min, confidence },
        }
    }
}

/// The gate, and for each case the verdict of the gate's finding about it. Only a gate on each case says something about cases.
///
/// `parts` has an entry for each of `cases`. `forgiven`: missing trials are tolerated ([`super::Required::forgives`]).
#[must_use]
pub fn success_rate(
    asked: &RateGate,
    cases: &[CaseResult],
    parts: &[CaseParts],
    forgiven: bool,
) -> (Gate, Vec<RunVerdict>) {
    let required = Asked::from(*asked);
    let judged: Vec<(String, Part, RunVerdict)> = parts_of(asked.per, cases, parts)
        .into_iter()
        .map(|(name, part)| {
            let verdict = required.verdict(&part.counts, part.planned, forgiven);
            (name, part, verdict)
        })
        .collect();
    let verdict = match judged.is_empty() {
        true => RunVerdict::Inconclusive,
        false => fold(judged.iter().map(|(_, _, verdict)| *verdict)),
    };
    let reason = match (asked.per, judged.as_slice()) {
        (RatePer::Run, [(_, part, verdict)]) => {
            format!("{}{}", found(asked, part, *verdict), missed(&part.counts, part.planned, forgiven))
        }
        (per, []) => format!("no case has a {}", per.name()),
        (per, judged) => of_parts(asked, per, judged, forgiven),
    };
    let mut of_cases = vec![RunVerdict::Pass; cases.len()];
    if asked.per == RatePer::Case {
        // Cases keep their order, so each part is the next one.
        for (case, (_, _, verdict)) in of_cases.iter_mut().zip(&judged) {
            *case = *verdict;
        }
    }
    (Gate { name: asked.to_string(), verdict, reason: format!("{reason}, required {}", requirement(asked)) }, of_cases)
}

/// In the order of names; cases keep their own order.
fn parts_of(per: RatePer, cases: &[CaseResult], parts: &[CaseParts]) -> Vec<(String, Part)> {
    let mut found: BTreeMap<(usize, String), Part> = BTreeMap::new();
    for (place, (case, of)) in cases.iter().zip(parts).enumerate() {
        let names = match per {
            RatePer::Case => vec![(place, case.name.clone())],
            per => of.named(per).into_iter().map(|name| (0, name)).collect(),
        };
        for name in names {
            let part = found.entry(name).or_default();
            part.planned += case.planned;
            part.counts.merge(&case.counts);
        }
    }
    found.into_iter().map(|((_, name), part)| (name, part)).collect()
}

/// `20 of 20 passed (100 %), so at least 86.09 %`.
fn found(asked: &RateGate, part: &Part, verdict: RunVerdict) -> String {
    let (pass, n, text) = (part.counts.pass, part.counts.conclusive(), passed(&part.counts));
    let RateBy::Bound(confidence) = asked.by else { return text };
    if n == 0 {
        return text;
    }
    let (low, high) = (lower_bound_at(pass, n, confidence), upper_bound_at(pass, n, confidence));
    match verdict {
        RunVerdict::Pass => format!("{text}, so at least {}", floor_percent(low)),
        RunVerdict::Fail => format!("{text}, so at most {}", ceil_percent(high)),
        RunVerdict::Inconclusive => {
            let few = match fewest_trials(asked.min, confidence) {
                Some(least) if n < least => format!("; too few, at least {least} trials are needed"),
                _ => String::new(),
            };
            format!("{text}, so between {} and {}{few}", floor_percent(low), ceil_percent(high))
        }
    }
}

fn of_parts(asked: &RateGate, per: RatePer, judged: &[(String, Part, RunVerdict)], forgiven: bool) -> String {
    let named = |wanted: RunVerdict| -> Vec<String> {
        let of = judged.iter().filter(|(_, _, verdict)| *verdict == wanted);
        of.map(|(name, part, verdict)| {
            format!("{name}: {}{}", found(asked, part, *verdict), missed(&part.counts, part.planned, forgiven))
        })
        .collect()
    };
    let (failed, open) = (named(RunVerdict::Fail), named(RunVerdict::Inconclusive));
    let many = match judged.len() {
        1 => format!("1 {}", per.name()),
        more => format!("{more} {}s", per.name()),
    };
    let mut texts = Vec::new();
    if !failed.is_empty() {
        texts.push(format!("{} failed ({})", failed.len(), some_of(&failed)));
    }
    if !open.is_empty() {
        texts.push(format!("{} undecided ({})", open.len(), some_of(&open)));
    }
    if !texts.is_empty() {
        return format!("of {many}, {}", texts.join(" and "));
    }
    let share = |part: &Part| part.counts.pass as f64 / part.counts.conclusive().max(1) as f64;
    let lowest = judged.iter().min_by(|(_, a, _), (_, b, _)| share(a).total_cmp(&share(b)));
    let lowest = lowest.map_or_else(String::new, |(name, part, verdict)| {
        format!("; the lowest is {name}: {}", found(asked, part, *verdict))
    });
    match judged.len() {
        1 => format!("the only {} passed{lowest}", per.name()),
        _ => format!("all {many} passed{lowest}"),
    }
}

/// `95 % of each case by point`, `95 % by the 95 % lower bound`.
fn requirement(asked: &RateGate) -> String {
    let each = if asked.per == RatePer::Run { String::new() } else { format!(" of each {}", asked.per.name()) };
    let by = match asked.by {
        RateBy::Point => "by point".to_owned(),
        RateBy::Bound(confidence) => format!("by the {} lower bound (Clopper-Pearson)", percent(confidence)),
    };
    format!("{}{each} {by}", percent(asked.min))
}

/// A bound is rounded outwards, so that a text never says more than the trials do.
fn floor_percent(share: f64) -> String {
    percent((share * 10_000.0).floor() / 10_000.0)
}

fn ceil_percent(share: f64) -> String {
    percent((share * 10_000.0).ceil() / 10_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASS: RunVerdict = RunVerdict::Pass;
    const FAIL: RunVerdict = RunVerdict::Fail;
    const OPEN: RunVerdict = RunVerdict::Inconclusive;

    fn counts(pass: u64, fail: u64) -> Counts {
        Counts { pass, fail, ..Counts::default() }
    }

    fn case(name: &str, planned: u64, counts: Counts) -> CaseResult {
        CaseResult { name: name.to_owned(), planned, counts, required_pass_rate: None }
    }

    fn of_run(min: f64, by: RateBy, planned: u64, counts: Counts, forgiven: bool) -> (RunVerdict, String) {
        let asked = RateGate { min, by, per: RatePer::Run };
        let (gate, cases) = success_rate(&asked, &[case("refund", planned, counts)], &[CaseParts::default()], forgiven);
        assert_eq!((gate.name, cases), (asked.to_string(), vec![PASS]));
        (gate.verdict, gate.reason)
    }

    #[test]
    fn by_point_the_rate_itself_decides() {
        let by = RateBy::Point;
        assert_eq!(
            of_run(0.95, by, 20, counts(19, 1), false),
            (PASS, "19 of 20 passed (95 %), required 95 % by point".to_owned())
        );
        assert_eq!(of_run(0.95, by, 20, counts(18, 2), false).0, FAIL);
        assert_eq!(of_run(0.95, by, 20, counts(18, 1), false).0, OPEN, "one trial is missing");
        assert_eq!(of_run(0.9, by, 20, counts(18, 1), true).0, PASS, "and forgiven");
    }

    #[test]
    fn by_the_bound_pass_and_fail_are_shown_and_the_rest_is_open() {
        let by = RateBy::Bound(0.95);
        for (pass, fail, verdict, text) in [
            (59, 0, PASS, "59 of 59 passed (100 %), so at least 95.04 %"),
            (
                58,
                0,
                OPEN,
                "58 of 58 passed (100 %), so between 94.96 % and 100 %; too few, at least 59 trials are needed",
            ),
            (91, 2, OPEN, "91 of 93 passed (97.85 %), so between 93.38 % and 99.62 %"),
            (92, 1, PASS, "92 of 93 passed (98.92 %), so at least 95 %"),
            (
                17,
                3,
                OPEN,
                "17 of 20 passed (85 %), so between 65.63 % and 95.79 %; too few, at least 59 trials are needed",
            ),
            (16, 4, FAIL, "16 of 20 passed (80 %), so at most 92.87 %"),
            (0, 0, OPEN, "no trial was judged"),
        ] {
            let (found, reason) = of_run(0.95, by, pass + fail, counts(pass, fail), false);
            assert_eq!(found, verdict, "{pass} of {}: {reason}", pass + fail);
            assert_eq!(reason, format!("{text}, required 95 % by the 95 % lower bound (Clopper-Pearson)"));
        }
    }

    #[test]
    fn missing_trials_count_against_what_is_shown() {
        let by = RateBy::Bound(0.95);
        let (verdict, reason) = of_run(0.5, by, 20, counts(10, 0), false);
        assert_eq!(verdict, OPEN, "if the other ten fail, 10 of 20 do not show it");
        assert!(reason.contains(", 10 of 20 missing, required 50 %"), "{reason}");
        assert_eq!(of_run(0.5, by, 20, counts(10, 0), true).0, PASS);
        assert_eq!(
            of_run(0.5, by, 20, counts(0, 10), false).0,
            OPEN,
            "if the other ten pass, 10 of 20 do not refute it"
        );
        let doubtful = Counts { doubtful: 9, ..counts(1, 9) };
        assert_eq!(of_run(0.9, by, 10, counts(1, 9), false).0, FAIL);
        assert_eq!(of_run(0.9, by, 10, doubtful, false).0, OPEN, "they might have passed");
    }

    /// Two files of a folder, one of another, two agents.
    fn matrix() -> (Vec<CaseResult>, Vec<CaseParts>) {
        let part = |scenario: &str, suite: &str, tags: &[&str], persona: Option<&str>, agent: &str| CaseParts {
            scenario: scenario.to_owned(),
            suite: suite.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            persona: persona.map(str::to_owned),
            agent: agent.to_owned(),
        };
        let cases = vec![
            case("refund / old", 10, counts(10, 0)),
            case("refund / new", 10, counts(4, 6)),
            case("hours", 10, counts(10, 0)),
            case("hello", 10, counts(9, 1)),
        ];
        let parts = vec![
            part("refund", "shop", &["money", "slow"], Some("anna"), "old"),
            part("refund", "shop", &["money"], Some("anna"), "new"),
            part("hours", "shop", &[], None, "new"),
            part("hello", "talk", &["slow"], None, "new"),
        ];
        (cases, parts)
    }

    #[test]
    fn a_gate_is_about_each_part() {
        let (cases, parts) = matrix();
        let of = |min, per| {
            let (gate, of_cases) = success_rate(&RateGate { min, by: RateBy::Point, per }, &cases, &parts, false);
            (gate.verdict, gate.reason, of_cases)
        };
        for (min, per, verdict, reason) in [
            (
                0.9,
                RatePer::Case,
                FAIL,
                "of 4 cases, 1 failed (refund / new: 4 of 10 passed (40 %)), required 90 % of each case by point",
            ),
            (
                0.7,
                RatePer::Scenario,
                PASS,
                "all 3 scenarios passed; the lowest is refund: 14 of 20 passed (70 %), required 70 % of each scenario by point",
            ),
            (
                0.8,
                RatePer::Suite,
                PASS,
                "all 2 suites passed; the lowest is shop: 24 of 30 passed (80 %), required 80 % of each suite by point",
            ),
            (
                0.8,
                RatePer::Tag,
                FAIL,
                "of 2 tags, 1 failed (money: 14 of 20 passed (70 %)), required 80 % of each tag by point",
            ),
            (
                0.7,
                RatePer::Persona,
                PASS,
                "the only persona passed; the lowest is anna: 14 of 20 passed (70 %), required 70 % of each persona by point",
            ),
            (
                0.8,
                RatePer::Agent,
                FAIL,
                "of 2 agents, 1 failed (new: 23 of 30 passed (76.67 %)), required 80 % of each agent by point",
            ),
        ] {
            let (found, text, of_cases) = of(min, per);
            assert_eq!((found, text.as_str()), (verdict, reason));
            let expected = if per == RatePer::Case { vec![PASS, FAIL, PASS, PASS] } else { vec![PASS; 4] };
            assert_eq!(of_cases, expected);
        }
    }

    #[test]
    fn without_a_part_nothing_is_decided() {
        let asked = RateGate { min: 0.5, by: RateBy::Point, per: RatePer::Tag };
        let (gate, _) = success_rate(&asked, &[case("hours", 3, counts(3, 0))], &[CaseParts::default()], false);
        assert_eq!(gate.verdict, OPEN);
        assert_eq!(gate.reason, "no case has a tag, required 50 % of each tag by point");
    }
}
