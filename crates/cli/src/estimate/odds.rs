//! The gates in `--dry-run`: how often each would let a run pass, by the true success rate.

use std::fmt::Write as _;

use record::count::{digits, plural};
use scenario::{
    Plan,
    objective::{Figure, Statistic},
    plan::{RateBy, RatePer},
};
use statistics::{
    clopper_pearson::fewest_trials,
    gate::{self, Odds, Planned, PlannedGate},
};

/// Empty for a load, whose trials are not known before.
pub(super) fn text(plan: &Plan) -> String {
    if plan.load.is_some() {
        return String::new();
    }
    let mut text = String::from("gates  if each trial passes with the same true rate, and trials are independent:\n");
    // A floor of 0 is none.
    for gate in gate::planned_gates(plan).into_iter().filter(|gate| !gate.is_floor || gate.least > 0.0) {
        let _ = writeln!(text, "  {}: {}\n    {}", gate.name, trials(&gate), chances(&gate));
    }
    for objective in &plan.gates.objectives {
        if let Figure::Time { statistic: statistic @ Statistic::Percentile(share), .. } = objective.figure {
            let floor = record::latency::floor_of(f64::from(share) / 100_000.0);
            let _ = writeln!(text, "  {objective}: {statistic} needs at least {} turns to pass", digits(floor));
        }
    }
    text
}

/// `20 trials`, `10 to 20 trials in each of 8 scenarios`.
fn trials(gate: &PlannedGate) -> String {
    let parts: u64 = gate.planned.iter().map(|planned| planned.parts).sum();
    let (Some(least), Some(most)) = (gate.planned.first(), gate.planned.last()) else {
        return format!("no case has a {}", gate.per.name());
    };
    let trials = match least.trials == most.trials {
        true => plural(least.trials, "trial", "trials"),
        false => format!("{} to {} trials", digits(least.trials), digits(most.trials)),
    };
    match (gate.per, parts) {
        (RatePer::Run, _) => trials,
        (per, 1) => format!("{trials} in 1 {}", per.name()),
        (per, many) => format!("{trials} in each of {} {}s", digits(many), per.name()),
    }
}

fn chances(gate: &PlannedGate) -> String {
    let Some(least) = gate.planned.first() else { return "undecided in every run".to_owned() };
    if gate.is_floor {
        return floor(least);
    }
    if let RateBy::Bound(confidence) = gate.by
        && gate::least_passes(least.asked, least.trials).is_none()
    {
        return match fewest_trials(gate.least, confidence) {
            Some(fewest) => format!("no run passes: at least {} are needed", plural(fewest, "trial", "trials")),
            None => "no run passes: no number of trials shows this rate".to_owned(),
        };
    }
    // Tags share trials, so their chances do not multiply.
    let overlaps = gate.per == RatePer::Tag;
    let one = [Planned { parts: 1, ..*least }];
    let planned = if overlaps { &one[..] } else { &gate.planned };
    let rates = rates_near(gate.least);
    let told: Vec<String> = rates.iter().map(|rate| told(*rate, gate.least, gate::odds(planned, *rate))).collect();
    let of_one = if overlaps { " (of a single tag)" } else { "" };
    let needs = match (gate.by, gate::least_passes(least.asked, least.trials)) {
        (RateBy::Bound(_), Some(passes)) => {
            format!("; passes from {} of {}", digits(passes), plural(least.trials, "trial", "trials"))
        }
        _ => String::new(),
    };
    format!("{}{of_one}{needs}", told.join("; "))
}

/// Which number of passes fails a case.
fn floor(least: &Planned) -> String {
    let trials = plural(least.trials, "trial", "trials");
    match gate::most_failing_passes(least.asked, least.trials) {
        Some(most) => format!("a case fails if {} or fewer of {trials} pass", digits(most)),
        None => format!("no case of {trials} can fail"),
    }
}

/// A better rate, the required one, and a worse one.
fn rates_near(least: f64) -> Vec<f64> {
    let below = 1.0 - least;
    if below <= 0.0 {
        return vec![0.999, 0.99, 0.9];
    }
    const STEP: f64 = 0.1;
    let rates = [least + (below * 0.8).min(STEP), least, least - below.min(STEP)];
    rates.into_iter().filter(|rate| (0.0..=1.0).contains(rate)).map(|rate| (rate * 1e4).round() / 1e4).collect()
}

/// `a true 95% is stopped in 1 of 4 runs`, `a true 99% passes 98 of 100 runs`.
fn told(rate: f64, least: f64, odds: Odds) -> String {
    let rate_text = format!("a true {}%", (rate * 1e4).round() / 1e2);
    let open = if odds.open >= 0.005 { format!(" ({} undecided)", of_100(odds.open)) } else { String::new() };
    let stopped = 1.0 - odds.pass;
    if rate == least && stopped >= 0.005 {
        return format!("{rate_text} is stopped in {}{open}", one_of(stopped));
    }
    match odds.pass {
        pass if pass < 0.005 => format!("{rate_text} passes fewer than 1 of 100 runs{open}"),
        pass if pass >= 0.995 => format!("{rate_text} passes more than 99 of 100 runs"),
        pass => format!("{rate_text} passes {} of 100 runs{open}", (pass * 100.0).round()),
    }
}

/// `1 of 4 runs`, `26 of 100 runs`.
fn one_of(chance: f64) -> String {
    match 1.0 / chance {
        often if often < 2.5 => format!("{} runs", of_100(chance)),
        seldom => format!("1 of {} runs", seldom.round()),
    }
}

fn of_100(chance: f64) -> String {
    format!("{} of 100", (chance * 100.0).round())
}

#[cfg(test)]
mod tests {
    use super::*;
    use statistics::gate::Asked;

    fn gate(least: f64, by: RateBy, per: RatePer, trials: u64, parts: u64) -> String {
        let asked = match by {
            RateBy::Point => Asked::Rate(least),
            RateBy::Bound(confidence) => Asked::Shown { least, confidence },
        };
        let planned = vec![Planned { asked, trials, parts }];
        let gate = PlannedGate { name: String::new(), per, least, by, is_floor: false, planned };
        format!("{}: {}", super::trials(&gate), chances(&gate))
    }

    #[test]
    fn a_gate_says_how_often_it_stops_and_passes() {
        let bound = RateBy::Bound(0.95);
        for (found, text) in [
            (
                gate(0.95, RateBy::Point, RatePer::Run, 20, 1),
                "20 trials: a true 99% passes 98 of 100 runs; a true 95% is stopped in 1 of 4 runs; a true 90% passes 39 of 100 runs",
            ),
            (gate(0.95, bound, RatePer::Run, 20, 1), "20 trials: no run passes: at least 59 trials are needed"),
            (
                gate(1.0, RateBy::Point, RatePer::Case, 5, 3),
                "5 trials in each of 3 cases: a true 99.9% passes 99 of 100 runs; a true 99% passes 86 of 100 runs; a true 90% passes 21 of 100 runs",
            ),
            (
                gate(0.9, bound, RatePer::Run, 100, 1),
                "100 trials: a true 98% passes 95 of 100 runs (5 of 100 undecided); a true 90% is stopped in 98 of 100 runs (94 of 100 undecided); a true 80% passes fewer than 1 of 100 runs (13 of 100 undecided); passes from 96 of 100 trials",
            ),
        ] {
            assert_eq!(found, text);
        }
        let floor = |trials| super::floor(&Planned { asked: Asked::Floor(0.475), trials, parts: 1 });
        assert_eq!(floor(20), "a case fails if 5 or fewer of 20 trials pass");
        assert_eq!(floor(2), "no case of 2 trials can fail");
    }
}
