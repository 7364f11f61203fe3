//! `--decide`: runs that stop as soon as their success rate is decided.

use anyhow::anyhow;
use record::count::plural;
use scenario::{Plan, plan::Decide};
use statistics::sequential::suite::Required;

use crate::{
    args::Selection,
    compared,
    exit::usage,
    settings::{Read, decide::Settings},
};

/// How the run decides early, if it was asked to. A load never does because of the settings alone.
pub(crate) fn chosen(selection: &Selection, read: &Read, has_load: bool) -> anyhow::Result<Option<Decide>> {
    let written = read.settings.decide.as_ref().filter(|_| !has_load);
    if !selection.decide && written.is_none() {
        return Ok(None);
    }
    let usual = Settings::default();
    let settings = written.unwrap_or(&usual);
    let gates = &read.settings.gates;
    let Some(good) = gates.pass_rate else {
        let hint = "write `gates: { pass_rate: 0.95 }` in the settings; without it every trial must pass, which no number of \
                    repeats shows";
        return Err(usage(anyhow!("a run that decides early needs a success rate to decide\nhint: {hint}")));
    };
    let bad = good
        - compared::margin(&settings.indifference).map_err(|reason| usage(anyhow!("decide.indifference {reason}")))?;
    if good >= 1.0 || bad <= 0.0 {
        let why = if good >= 1.0 {
            format!("no number of passes shows a success rate of {good}")
        } else {
            format!("`decide.indifference` reaches down to {bad:.2}")
        };
        let hint = "`gates.pass_rate` must be less than 1, and more than `decide.indifference`";
        return Err(usage(anyhow!("the run cannot decide early: {why}\nhint: {hint}")));
    }
    Ok(Some(Decide {
        // 0.95 - 0.05 is 0.8999999999999999.
        bad: (bad * 1e6).round() / 1e6,
        good,
        floor: Some(gates.case_pass_rate.unwrap_or(good / 2.0)).filter(|floor| *floor > 0.0),
        false_pass: settings.false_pass,
        false_fail: settings.false_fail,
        most_repeats: selection.repeats.unwrap_or(settings.repeats),
    }))
}

/// Refuses a plan that can never be decided. Otherwise the least and the most that it plays, in a line; `None`: it plays every
/// repeat.
pub(crate) fn prospect(plan: &Plan) -> anyhow::Result<Option<String>> {
    let Some(required) = Required::of_plan(plan) else { return Ok(None) };
    let (cases, most) = (required.counted(), u64::from(required.most_repeats()));
    let (pass, fail) = (required.least_repeats_to_pass(), required.least_repeats_to_fail());
    for (verdict, least) in [("PASS", pass), ("FAIL", fail)] {
        if least > most {
            let repeats = plural(least, "repeat", "repeats");
            let of = plural(cases, "case", "cases");
            let why = format!("{verdict} takes at least {repeats} of each of {of}, and at most {most} are allowed");
            let hint = "allow more repeats (`--repeats`, `decide.repeats`), or widen `decide.indifference`";
            return Err(usage(anyhow!("the run could not be decided: {why}\nhint: {hint}")));
        }
    }
    Ok(Some(format!(
        "the run stops when it is decided: PASS after {} of {} or more ({}), FAIL after {fail} or more, at most {most}",
        plural(pass, "repeat", "repeats"),
        plural(cases, "case", "cases"),
        plural(pass * cases, "conversation", "conversations"),
    )))
}
