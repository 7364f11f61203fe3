//! What a run that stops when it is decided says about its decision: in words, as a gate, and for `report.json`.

use record::{
    count::{digits, plural},
    summary::{Gate, RunVerdict, Sequential, SequentialCase, SequentialRate},
};

use super::{
    rule::{Found, Rule},
    suite::{CaseState, Suite, Verdict},
};

/// The name of the gate.
const GATE: &str = "decided_early";

/// A line: the verdict, after how many repeats, and what it rests on. `name_of`: the name of a case, by its place in the plan.
#[must_use]
pub fn of(suite: &Suite, name_of: impl Fn(usize) -> String) -> String {
    let required = suite.required();
    let (rounds, most) = (u64::from(suite.rounds()), u64::from(required.most_repeats()));
    let consumed = plural(suite.consumed(), "conversation", "conversations");
    let after = format!("after {} of {} ({consumed})", digits(rounds), plural(most, "repeat", "repeats"));
    let (seen, found) = suite.mean();
    let passed = format!("{} of {} passed", digits(seen.passes), digits(seen.trials));
    let mean = required.mean();
    let wrong = |rate: f64, verdict: &str, chance: f64| {
        format!("a run at {} {verdict} with a chance of at most {}", percent(rate), percent(chance))
    };
    match suite.verdict() {
        None => format!("not decided yet, {after}"),
        Some(Verdict::Undecided) if found.is_none() => {
            format!("not decided {after}: {passed}, required {}", percent(mean.good()))
        }
        Some(Verdict::Undecided) => {
            let open = |case: &usize| required.floor(*case).is_some() && suite.cases()[*case].floor.is_none();
            let open = (0..suite.cases().len()).filter(open).count() as u64;
            format!("not decided {after}: {} not shown to reach the floor", plural(open, "case is", "cases are"))
        }
        Some(Verdict::Pass) => {
            format!("decided {after}: PASS, {passed}; {}", wrong(mean.bad(), "passes", mean.false_pass()))
        }
        Some(Verdict::MeanFails) => {
            format!("decided {after}: FAIL, {passed}; {}", wrong(mean.good(), "fails", required.false_fail()))
        }
        Some(Verdict::CaseFails(case)) => {
            let seen = suite.cases().get(case).map(|state| state.seen).unwrap_or_default();
            let floor = percent(required.floor(case).map_or(0.0, Rule::good));
            format!(
                "decided {after}: FAIL, {} passed {} of {}, and its floor is {floor}; a run whose cases reach their floors fails with \
                 a chance of at most {}",
                name_of(case),
                digits(seen.passes),
                digits(seen.trials),
                percent(required.false_fail())
            )
        }
    }
}

/// The gate that replaces those about success rates.
#[must_use]
pub fn gate(suite: &Suite, name_of: impl Fn(usize) -> String) -> Gate {
    let verdict = verdict(suite).unwrap_or(RunVerdict::Inconclusive);
    Gate { name: GATE.to_owned(), verdict, reason: of(suite, name_of) }
}

/// The verdict of each case. Without a floor a case passes and fails with the run, and one in quarantine has none.
#[must_use]
pub fn cases(suite: &Suite) -> Vec<RunVerdict> {
    let of_mean = suite.mean().1.map_or(RunVerdict::Inconclusive, run_verdict);
    let of = |(case, state): (usize, &CaseState)| match (suite.required().floor(case), state.floor) {
        (Some(_), found) => found.map_or(RunVerdict::Inconclusive, run_verdict),
        (None, _) if suite.required().is_left_out(case) => RunVerdict::Inconclusive,
        (None, _) => of_mean,
    };
    suite.cases().iter().enumerate().map(of).collect()
}

/// The shape of `report.json`.
#[must_use]
pub fn summary(suite: &Suite) -> Sequential {
    let required = suite.required();
    let (seen, found) = suite.mean();
    let case = |(number, state): (usize, &CaseState)| SequentialCase {
        case: number as u64,
        floor: required.floor(number).map(Rule::good),
        trials: state.seen.trials,
        pass: state.seen.passes,
        fail: state.seen.failures,
        verdict: state.floor.map(run_verdict),
    };
    let most_repeats = u64::from(required.most_repeats());
    Sequential {
        verdict: verdict(suite),
        repeats: u64::from(suite.rounds()),
        most_repeats,
        consumed: suite.consumed(),
        most_conversations: most_repeats * required.counted(),
        false_pass: required.mean().false_pass(),
        false_fail: required.false_fail(),
        mean: SequentialRate {
            bad: required.mean().bad(),
            good: required.mean().good(),
            trials: seen.trials,
            pass: seen.passes,
            fail: seen.failures,
            verdict: found.map(run_verdict),
        },
        cases: suite.cases().iter().enumerate().map(case).collect(),
    }
}

fn verdict(suite: &Suite) -> Option<RunVerdict> {
    suite.verdict().map(|verdict| match verdict {
        Verdict::Pass => RunVerdict::Pass,
        Verdict::MeanFails | Verdict::CaseFails(_) => RunVerdict::Fail,
        Verdict::Undecided => RunVerdict::Inconclusive,
    })
}

fn run_verdict(found: Found) -> RunVerdict {
    match found {
        Found::Pass => RunVerdict::Pass,
        Found::Fail => RunVerdict::Fail,
    }
}

/// `95 %`, `99.5 %`: as few digits as possible.
fn percent(share: f64) -> String {
    let hundredths = (share * 10_000.0).round() / 100.0;
    format!("{hundredths} %")
}
