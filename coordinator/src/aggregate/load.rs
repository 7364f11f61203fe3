//! From the fold of a load to its figures in a summary.

use std::time::Duration;

use record::{
    decision::{self, Decision, stands_still_since},
    latency::Quantiles,
    slices::Slices,
    summary::{Gate, Load, LoadGroup, LoadSearch, LoadSlice, LoadStep, RunState, RunVerdict},
    tally::{LoadTally, StepTally},
};
use scenario::{
    load::{Step, StepVerdict},
    plan::Gates,
};
use statistics::{knee, search, success, sustained, valid_load};
use store::{Recovered, RunRow};

use super::drift;

pub(super) fn of(row: &RunRow, tally: &LoadTally, recovered: &Recovered, over_time: &Slices, gates: &Gates) -> Load {
    // What is due at the end of a run that stopped. Nothing is due in a pause, or while what runs ends.
    let stood_still = stands_still_since(&recovered.decisions).into_iter().chain(row.ended_at).min();
    let elapsed = match (row.state, recovered.load_began_at, row.ended_at.and(stood_still)) {
        (RunState::Finished, ..) => Duration::MAX,
        (_, Some(began), Some(then)) => Duration::from_millis(u64::try_from(then - began).unwrap_or(0)),
        _ => Duration::ZERO,
    };
    let group = |(index, lane): (usize, &scenario::load::Lane)| {
        let counts = tally.lanes.get(&index).copied().unwrap_or_default();
        // During a run, running trials are not counted yet.
        let due = if lane.is_open() { lane.due_before(elapsed) } else { 0 };
        let scheduled = due.max(counts.ended());
        let (sent, dropped) = (counts.sent, counts.dropped);
        LoadGroup {
            name: lane.name().to_owned(),
            open: lane.is_open(),
            scheduled,
            sent,
            dropped,
            lost: scheduled - sent - dropped,
        }
    };
    let lanes = tally.schedule().lanes();
    let groups: Vec<LoadGroup> = lanes.iter().enumerate().map(group).collect();
    let search = searched(tally, &recovered.decisions, gates);
    // A search judges the starts of each step.
    let of_starts = || dropped(tally, &groups).or_else(|| valid_load::late_starts(&tally.late));
    let invalid = if search.is_some() { None } else { of_starts() };
    let sum = |of: fn(&LoadGroup) -> u64| groups.iter().map(of).sum();
    let open = groups.iter().any(|group| group.open);
    let late = open.then(|| Quantiles::of(&tally.late));
    let of_lanes = |of: fn(&record::tally::LaneCounts) -> u64| tally.lanes.values().map(of).sum();
    let steps = steps(tally);
    let knee = knee::of(&steps);
    Load {
        scheduled: sum(|group| group.scheduled),
        sent: sum(|group| group.sent),
        dropped: sum(|group| group.dropped),
        lost: sum(|group| group.lost),
        rescheduled: of_lanes(|lane| lane.rescheduled),
        warm_up: of_lanes(|lane| lane.warm_up),
        invalid: invalid.or_else(|| recovered.runner.slots.invalid()).or_else(|| recovered.runner.invalid()),
        runner: Some(&recovered.runner).filter(|runner| runner.samples > 0).cloned(),
        drift: Some(drift::of(tally.schedule(), over_time, &recovered.runner.memory)),
        late,
        slice_seconds: tally.slice().as_secs(),
        slices: if open { slices(tally, elapsed) } else { Vec::new() },
        groups,
        search,
        steps,
        no_knee: knee.as_ref().err().cloned(),
        knee: knee.ok(),
        sustained: sustained::of(played(tally), gates),
    }
}

/// The steps in which something happened.
fn played(tally: &LoadTally) -> impl Iterator<Item = (&Step, &StepTally)> {
    tally.by_step.iter().filter_map(|(number, found)| Some((tally.steps().get(*number)?, found)))
}

fn steps(tally: &LoadTally) -> Vec<LoadStep> {
    let one = |(step, found): (&Step, &StepTally)| LoadStep {
        from_seconds: step.from.as_secs_f64(),
        until_seconds: step.until.map(|until| until.as_secs_f64()),
        rate: step.rate,
        slots: step.slots,
        ends: found.ends.ended(),
        dropped: found.dropped,
        pass: found.ends.pass,
        fail: found.ends.fail,
        agent_errors: found.ends.agent_errors,
        other_ends: found.ends.unjudged(),
        success_rate: success::success_rate(&found.ends),
        simulator_faults: found.simulator_faults,
        simulated: found.simulated,
        turns: found.turns,
        unanswered_turns: found.unanswered,
        response: Quantiles::of(&found.response),
        turn: Quantiles::of(&found.service),
        ttft: Quantiles::of(&found.ttft),
        cost_usd: found.cost.dollars(),
        cost_per_pass_usd: (found.ends.pass > 0 && found.unpriced_calls == 0)
            .then(|| found.cost.dollars() / found.ends.pass as f64),
    };
    played(tally).map(one).collect()
}

/// A group dropped starts, so the agent got less load than was asked for. Those of the warm-up do not count.
fn dropped(tally: &LoadTally, groups: &[LoadGroup]) -> Option<String> {
    groups.iter().enumerate().filter(|(_, group)| group.open).find_map(|(index, group)| {
        let counts = tally.lanes.get(&index)?;
        let (dropped, starts) = (counts.dropped - counts.dropped_in_warm_up, group.scheduled - counts.warm_up);
        let of = if groups.len() > 1 { format!(" of `{}`", group.name) } else { String::new() };
        valid_load::dropped(dropped, starts, &of)
    })
}

/// What the search found. A step that nothing was stored about is judged by what has ended.
fn searched(tally: &LoadTally, decisions: &[Decision], gates: &Gates) -> Option<LoadSearch> {
    let schedule = tally.schedule();
    schedule.search()?;
    let (stored, ended) = decision::searched(decisions);
    let mut found: Vec<_> = stored.into_iter().map(|(rate, verdict, why)| (rate, verdict, why.to_owned())).collect();
    let steps = schedule.search_steps();
    let left = steps.iter().enumerate().skip(found.len()).map_while(|(number, step)| {
        let (verdict, why) = judged(tally, number, gates)?;
        Some((step.rate, verdict, why))
    });
    found.extend(left);
    Some(search::of(steps, &found, ended, gates))
}

/// The verdict on a step of a search; `None`: not all of its conversations have ended.
pub(crate) fn judged(tally: &LoadTally, number: usize, gates: &Gates) -> Option<(StepVerdict, String)> {
    let (step, lane) = (tally.schedule().search_steps().get(number)?, tally.schedule().lanes().first()?);
    let due = lane.due_before(step.until) - lane.due_before(step.measured_from);
    search::judge(&tally.by_step.get(&number).cloned().unwrap_or_default(), due, gates)
}

/// A load that is invalid, or not over, decides nothing.
pub(super) fn gates(load: &Load, state: RunState) -> Vec<Gate> {
    let stopped = (state != RunState::Finished).then(|| "the load is not over".to_owned());
    let open = [("load_is_valid", load.invalid.clone()), ("load_is_over", stopped)];
    let gate = |(name, why): (&str, Option<String>)| {
        Some(Gate { name: name.to_owned(), verdict: RunVerdict::Inconclusive, reason: why? })
    };
    open.into_iter().filter_map(gate).chain(load.search.as_ref().map(search::gate)).collect()
}

fn slices(tally: &LoadTally, elapsed: Duration) -> Vec<LoadSlice> {
    let (slice, lanes) = (tally.slice(), tally.schedule().lanes());
    let ends = tally.schedule().ends().unwrap_or_default().min(elapsed);
    let due_before = |time: Duration| lanes.iter().map(|lane| lane.due_before(time)).sum::<u64>();
    let last = tally.slices.keys().next_back().map_or(0, |last| last + 1);
    let count = u64::try_from(ends.as_micros().div_ceil(slice.as_micros())).unwrap_or(0).max(last);
    let at = |number: u64| slice * u32::try_from(number).unwrap_or(u32::MAX);
    let one = |number: u64| {
        let counts = tally.slices.get(&number).copied().unwrap_or_default();
        let due = due_before(at(number + 1).min(elapsed)) - due_before(at(number).min(elapsed));
        let offered = due + counts.in_slots;
        LoadSlice { from_seconds: at(number).as_secs(), offered, started: counts.started, dropped: counts.dropped }
    };
    (0..count).map(one).collect()
}

#[cfg(test)]
mod tests {
    use record::{
        Failure, FailureKind, Role, Trial, Usd, Verdict,
        call::{Spend, SpendLine},
        decision::{Decided, Decision},
        runner::Sample,
        summary::KneeUnit,
        trial::{Start, TurnLatency},
    };
    use scenario::{
        CaseId, Digest, RunId, TrialId,
        load::{Pace, Profile, Spacing, Stage},
    };

    use super::*;
    use crate::scheduler::fixture::{even, schedule, slots, warmed_up};

    fn required() -> Gates {
        serde_json::from_str(r#"{"pass_rate": 0.9, "max_unjudged": 0.0}"#).unwrap()
    }

    fn row(state: RunState, ended_at: Option<i64>) -> RunRow {
        RunRow {
            id: RunId::new("r"),
            name: String::new(),
            plan_digest: Digest::new("d"),
            seed: 0,
            planned: 0,
            state,
            started_at: 0,
            ended_at,
            version: String::new(),
            exhausted: false,
            max_cost: None,
            preflight: Spend::default(),
        }
    }

    /// Started so many microseconds late, or not at all for this reason.
    fn trial(number: u64, epoch: u32, start: Result<Start, FailureKind>) -> Trial {
        let (id, case_id) = (TrialId::new("t"), CaseId::new("c"));
        let planned = scenario::Trial { number, id, case: 0, case_id, repeat: 0, seed: 0 };
        let kind = start.err().unwrap_or(FailureKind::CheckFailed);
        Trial { start: start.ok(), ..Trial::unplayed(&planned, epoch, Verdict::Skipped, Failure::new(kind, "")) }
    }

    fn on_time(number: u64, late_micros: u64) -> Trial {
        trial(number, 1, Ok(Start { at_micros: number * 100_000 + late_micros, late_micros }))
    }

    #[test]
    fn every_arrival_that_was_due_is_sent_dropped_or_lost() {
        let tally = || LoadTally::of(schedule(vec![even(10.0, 10), slots(2.0, None, Some(10))]));
        let of_slots = scenario::load::trial_number(1, 0);
        let trials = [
            on_time(0, 50),
            on_time(1, 150),
            trial(2, 1, Err(FailureKind::Dropped)),
            trial(3, 2, Ok(Start { at_micros: 2_500_000, late_micros: 0 })),
            trial(4, 3, Err(FailureKind::Poisoned)),
            trial(of_slots, 1, Ok(Start { at_micros: 7, late_micros: 0 })),
        ];
        let (mut whole, mut parts) = (tally(), [tally(), tally()]);
        for (number, trial) in trials.iter().enumerate() {
            whole.add(trial);
            parts[number % 2].add(trial);
        }
        let [mut merged, other] = parts;
        merged.merge(&other);
        assert_eq!(merged, whole);
        let began = Recovered { load_began_at: Some(1_000), ..Recovered::default() };
        // It stopped after 3 s, when 30 arrivals had been due.
        let stopped = row(RunState::Interrupted, Some(4_000));
        let load = of(&stopped, &whole, &began, &Slices::default(), &required());
        assert_eq!((load.scheduled, load.sent, load.dropped, load.lost), (31, 4, 1, 26));
        assert_eq!((load.rescheduled, load.warm_up), (1, 0));
        let of_groups: Vec<_> = load.groups.iter().map(|group| (group.open, group.scheduled, group.sent)).collect();
        assert_eq!(of_groups, [(true, 30, 3), (false, 1, 1)]);
        let late = load.late.expect("it has arrivals");
        assert_eq!((late.count, late.max_ms), (2, 0.15), "an attempt that replaces another is not late");
        let slices: Vec<_> = load.slices.iter().map(|slice| (slice.offered, slice.started, slice.dropped)).collect();
        assert_eq!(slices, [(11, 3, 1), (10, 0, 0), (10, 1, 0)], "what a slot starts is offered then");
        let steps: Vec<_> = load.steps.iter().map(|step| (step.rate, step.slots, step.ends, step.dropped)).collect();
        assert_eq!(steps, [(Some(10.0), Some(2.0), 5, 1)], "all but the one that was dropped");
        let gates = gates(&load, RunState::Interrupted);
        let gates: Vec<&str> = gates.iter().map(|gate| gate.name.as_str()).collect();
        assert_eq!(gates, ["load_is_valid", "load_is_over"], "one of 30 was dropped");
        // It was paused or stopped after 2 s, and nothing was due from then on.
        for what in [Decided::Paused, Decided::Interrupted] {
            let decisions = vec![Decision { at: 3_000, load_micros: None, by: None, what }];
            let began = Recovered { decisions, ..began.clone() };
            let load = of(&stopped, &whole, &began, &Slices::default(), &required());
            assert_eq!((load.scheduled, load.lost), (21, 16));
        }
    }

    #[test]
    fn quality_is_told_by_step_and_the_knee_is_where_it_falls() {
        let rate = |rate: f64| Stage { micros: 40_000_000, from: rate, to: rate };
        let stairs = Profile { stages: vec![rate(1.0), rate(2.0), rate(3.0), rate(4.0)] };
        let mut tally = LoadTally::of(schedule(vec![Pace::Arrivals { spacing: Spacing::Even, rate: stairs }]));
        for number in 0..400 {
            // 40, 80, 120 and 160 arrivals: those of the last two steps fail three times of four.
            let verdict = if number >= 120 && number % 4 > 0 { Verdict::Fail } else { Verdict::Pass };
            let latencies =
                vec![TurnLatency { total_micros: 1_000 * number, ttft_micros: Some(number), ..TurnLatency::default() }];
            let mut played = Trial { verdict, latencies, turns: 1, unanswered: 1, ..on_time(number, 0) };
            let line = SpendLine { calls: 1, cost: Usd(1_000_000), ..SpendLine::default() };
            played.spend.add_line(Role::Agent, "m", line);
            tally.add(&played);
        }
        let finished = row(RunState::Finished, Some(200_000));
        let load = of(&finished, &tally, &Recovered::default(), &Slices::default(), &required());
        let shown: Vec<_> = load.steps.iter().map(|step| (step.rate, step.ends, step.pass, step.fail)).collect();
        let rates = [1.0, 2.0, 3.0, 4.0].map(Some);
        assert_eq!(
            shown,
            [(rates[0], 40, 40, 0), (rates[1], 80, 80, 0), (rates[2], 120, 30, 90), (rates[3], 160, 40, 120)]
        );
        let third = &load.steps[2];
        assert_eq!((third.from_seconds, third.until_seconds), (80.0, Some(120.0)));
        assert_eq!((third.success_rate.estimate, third.unanswered_turns), (Some(0.25), 120));
        assert_eq!((third.cost_usd, third.cost_per_pass_usd), (0.12, Some(0.004)));
        assert_eq!((third.turn.count, third.ttft.count, third.ttft.max_ms), (120, 120, 0.239));
        let knee = load.knee.expect("it falls");
        assert_eq!((knee.unit, knee.load, knee.low, knee.high), (KneeUnit::Rate, 2.0, 2.0, 3.0));
        assert_eq!(load.no_knee, None);
    }

    #[test]
    fn more_than_one_dropped_start_in_a_hundred_makes_a_load_invalid() {
        let finished = row(RunState::Finished, Some(101_000));
        let why = |groups: usize, warm_up_seconds: u64, drops: std::ops::Range<u64>| {
            let mut tally = LoadTally::of(warmed_up(vec![even(10.0, 100); groups], warm_up_seconds));
            for number in 0..1_000 {
                let is_dropped = drops.contains(&number);
                tally.add(&if is_dropped { trial(number, 1, Err(FailureKind::Dropped)) } else { on_time(number, 10) });
            }
            of(&finished, &tally, &Recovered::default(), &Slices::default(), &required()).invalid.unwrap_or_default()
        };
        assert_eq!(why(1, 0, 0..10), "");
        assert!(why(1, 0, 0..11).starts_with("11 of 1000 starts were dropped (1.1 %), more than 1 %: "));
        assert!(why(2, 0, 0..11).starts_with("11 of 1000 starts of `group 0` were dropped"));
        assert_eq!(why(1, 50, 0..500), "", "all of the warm-up");
        assert!(why(1, 50, 490..510).starts_with("10 of 500 starts were dropped (2.0 %)"));
    }

    #[test]
    fn late_starts_make_a_load_invalid() {
        let finished = row(RunState::Finished, Some(11_000));
        let played = |starts: u64, late: u64| {
            let mut tally = LoadTally::of(schedule(vec![even(10.0, starts / 10)]));
            for number in 0..starts {
                tally.add(&on_time(number, if number < late { 400_000 } else { 10 }));
            }
            let load = of(&finished, &tally, &Recovered::default(), &Slices::default(), &required());
            assert_eq!((load.scheduled, load.sent, load.lost), (starts, starts, 0));
            load
        };
        assert_eq!(played(1_000, 10).invalid, None, "one in a hundred");
        assert_eq!(played(100, 40).invalid, None, "few starts of a machine that had a moment");
        let why = |load: &Load| load.invalid.clone().unwrap_or_default();
        assert!(why(&played(100, 60)).starts_with("starts were late by 400 ms (p50)"));
        let load = played(1_000, 20);
        assert!(why(&load).starts_with("starts were late by 400 ms (p99)"));
        let [gate] = gates(&load, RunState::Finished).try_into().expect("one gate");
        assert_eq!((gate.name.as_str(), gate.verdict), ("load_is_valid", RunVerdict::Inconclusive));
        let mut recovered = Recovered::default();
        let sample = Sample { cpu_permille: 990, ..Sample::default() };
        (0..9).for_each(|_| recovered.runner.add(sample, 0, 0));
        let busy =
            of(&finished, &LoadTally::of(schedule(vec![even(10.0, 10)])), &recovered, &Slices::default(), &required());
        assert!(busy.invalid.is_some_and(|why| why.starts_with("workers used more than 90 %")));
    }
}
