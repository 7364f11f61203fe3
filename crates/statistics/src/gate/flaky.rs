//! The gate on flaky cases.

use record::{
    count::plural,
    share,
    summary::{Gate, RunVerdict},
};

use super::{CaseResult, percent, some_of};
use crate::flakiness::is_flaky;

/// At most the share `allowed` of the cases is flaky.
///
/// A case can still turn out flaky if trials of it are missing. A case with one trial cannot show it, so it is open too: few
/// repeats are no pass.
#[must_use]
pub fn flaky_cases(allowed: f64, cases: &[CaseResult]) -> Gate {
    let all = cases.len() as u64;
    let flaky: Vec<&str> = cases.iter().filter(|case| is_flaky(&case.counts)).map(|case| case.name.as_str()).collect();
    let open = cases
        .iter()
        .filter(|case| !is_flaky(&case.counts))
        .filter(|case| case.counts.conclusive() < 2 || case.counts.missing(case.planned) > 0)
        .count() as u64;
    let found = flaky.len() as u64;
    let verdict = if all == 0 {
        RunVerdict::Inconclusive
    } else if !share::allows(allowed, found, all) {
        RunVerdict::Fail
    } else if share::allows(allowed, found + open, all) {
        RunVerdict::Pass
    } else {
        RunVerdict::Inconclusive
    };
    let names = if flaky.is_empty() { String::new() } else { format!(": {}", some_of(&flaky)) };
    let undecided = match open {
        0 => String::new(),
        open => format!(", {} too few trials to tell", plural(open, "has", "have")),
    };
    let reason = match all {
        0 => super::NO_CASE.to_owned(),
        _ => format!(
            "{found} of {} flaky ({}{names}){undecided}, allowed {}",
            plural(all, "case is", "cases are"),
            percent(found as f64 / all as f64),
            percent(allowed)
        ),
    };
    Gate { name: "max_flaky_cases".to_owned(), verdict, reason }
}

#[cfg(test)]
mod tests {
    use record::tally::Counts;

    use super::*;

    fn case(planned: u64, pass: u64, fail: u64) -> CaseResult {
        let counts = Counts { pass, fail, ..Counts::default() };
        CaseResult { name: "refund".to_owned(), planned, counts, required_pass_rate: None }
    }

    #[test]
    fn flaky_cases_are_counted_and_open_ones_are_no_pass() {
        use RunVerdict::{Fail, Inconclusive, Pass};
        for (allowed, cases, verdict, reason) in [
            (0.0, vec![], Inconclusive, "no case counts: none was played, or all are in quarantine"),
            (0.0, vec![case(3, 3, 0), case(3, 0, 3)], Pass, "0 of 2 cases are flaky (0 %), allowed 0 %"),
            (0.4, vec![case(3, 3, 0), case(3, 2, 1)], Fail, "1 of 2 cases are flaky (50 %: refund), allowed 40 %"),
            (0.5, vec![case(3, 3, 0), case(3, 2, 1)], Pass, "1 of 2 cases are flaky (50 %: refund), allowed 50 %"),
            (
                0.4,
                vec![case(3, 3, 0), case(3, 2, 0)],
                Inconclusive,
                "0 of 2 cases are flaky (0 %), 1 has too few trials to tell, allowed 40 %",
            ),
            (
                0.0,
                vec![case(1, 1, 0)],
                Inconclusive,
                "0 of 1 case is flaky (0 %), 1 has too few trials to tell, allowed 0 %",
            ),
            (1.0, vec![case(1, 1, 0)], Pass, "0 of 1 case is flaky (0 %), 1 has too few trials to tell, allowed 100 %"),
        ] {
            let found = flaky_cases(allowed, &cases);
            assert_eq!((found.verdict, found.reason.as_str()), (verdict, reason));
        }
    }
}
