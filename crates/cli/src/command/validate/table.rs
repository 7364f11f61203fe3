//! The results about a threshold as a table for a terminal.

use std::fmt::Write as _;

use record::summary::Rate;
use statistics::threshold::{Confusion, Side};

use super::agreement::Agreement;
use crate::diagnostics::visible;

pub(super) fn of(found: &Agreement) -> String {
    let Confusion { good_passed, good_failed, bad_passed, bad_failed } = found.confusion;
    let models: Vec<String> = found.models.iter().map(|model| visible(model)).collect();
    let (goods, bads) = (good_passed + good_failed, bad_passed + bad_failed);
    let passes = match found.passes {
        Side::AtLeast => format!("at {} or above", found.threshold),
        Side::AtMost => format!("at {} or below", found.threshold),
    };
    let mut text = format!("{} by {}: {goods} labelled pass, {bads} labelled fail\n", found.measure, models.join(", "));
    let mut line = |name: &str, rest: &str| writeln!(text, "  {name:<24}{rest}").expect("a String takes any text");
    line(&format!("{passes}:"), "passes   fails");
    line("labelled pass", &format!("{good_passed:>6}  {good_failed:>6}"));
    line("labelled fail", &format!("{bad_passed:>6}  {bad_failed:>6}"));
    let worth = &found.worth;
    for (name, rate) in
        [("accuracy", &worth.accuracy), ("precision", &worth.precision), ("recall", &worth.recall), ("F1", &worth.f1)]
    {
        line(name, &with_interval(rate));
    }
    match &found.best {
        None => line("best threshold", "none: no threshold separates them better than chance"),
        Some(best) => {
            let wrong = best.confusion.good_failed + best.confusion.bad_passed;
            line("best threshold", &format!("{:.3}, as good from {:.3} to {:.3}", best.threshold, best.low, best.high));
            line("", &format!("Youden's J {:.3}, {wrong} of {} wrong", best.youdens_j, goods + bads));
        }
    }
    text
}

fn with_interval(rate: &Rate) -> String {
    match rate.estimate {
        None => "unknown: there is nothing to count".to_owned(),
        Some(estimate) => format!("{estimate:.3} ({:.3} to {:.3}, {})", rate.low, rate.high, rate.method),
    }
}
