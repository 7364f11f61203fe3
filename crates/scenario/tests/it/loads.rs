//! Schedules and draws of loads.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use proptest::prelude::*;
use scenario::{
    Load, Plan, Trial,
    estimate::Sample,
    load::{
        Lane, LoadGroup, MOST_LOCAL, Pace, Profile, RateChange, Schedule, Share, Spacing, Stage,
        USUAL_DROP_AFTER_MICROS, lane_and_local, trial_number,
    },
    plan::{Axis, Choices, build},
};

fn seconds(seconds: f64) -> Duration {
    Duration::from_micros((seconds * 1e6).round() as u64)
}

fn profile(stages: &[(f64, f64, f64)]) -> Profile {
    let stage = |&(length, from, to): &(f64, f64, f64)| Stage { micros: (length * 1e6) as u64, from, to };
    Profile { stages: stages.iter().map(stage).collect() }
}

fn lane(pace: Pace, seed: u64) -> Lane {
    let group = LoadGroup { name: "all".to_owned(), pace, mix: Vec::new() };
    let load =
        Load { groups: vec![group], warm_up_micros: 0, drop_after_micros: USUAL_DROP_AFTER_MICROS, search: None };
    schedule(load, seed).lanes().first().expect("one group").clone()
}

fn schedule(load: Load, seed: u64) -> Schedule {
    let text = r#"{"version": 3, "name": "n", "seed": 0, "groups": [], "personas": {}, "agents": ["a"], "live": false,
        "gates": {"pass_rate": null, "max_unjudged": 0.0}}"#;
    let plan: Plan = serde_json::from_str(text).expect("a plan");
    Plan { seed, load: Some(load), ..plan }.schedule().expect("it has a load")
}

fn arrivals(spacing: Spacing, stages: &[(f64, f64, f64)], seed: u64) -> Lane {
    lane(Pace::Arrivals { spacing, rate: profile(stages) }, seed)
}

/// The first dues in seconds.
fn first(lane: &Lane, many: usize) -> Vec<f64> {
    lane.dues(0).take(many).map(|due| due.as_secs_f64()).collect()
}

#[test]
fn golden_schedules() {
    let even = arrivals(Spacing::Even, &[(7200.0, 5.0, 5.0)], 1);
    assert_eq!((even.count(), even.ends()), (Some(36_000), Some(seconds(7200.0))));
    assert_eq!(first(&even, 4), [0.0, 0.2, 0.4, 0.6]);
    assert_eq!(even.due(35_999), Some(seconds(7199.8)));
    assert_eq!(even.due(36_000), None);
    let ramp = arrivals(Spacing::Even, &[(10.0, 0.0, 10.0), (5.0, 10.0, 10.0), (10.0, 10.0, 0.0)], 1);
    assert_eq!(ramp.count(), Some(150), "the area under the stages");
    // The roots of 0, 2, 4 and 6.
    assert_eq!(
        ramp.dues(0).take(4).map(|due| due.as_micros()).collect::<Vec<_>>(),
        [0, 1_414_214, 2_000_000, 2_449_490]
    );
    assert_eq!(ramp.due(50), Some(seconds(10.0)));
    let poisson = arrivals(Spacing::Poisson, &[(10.0, 1.0, 1.0)], 7);
    assert_eq!(first(&poisson, 99), GOLDEN_POISSON);
    let gamma = arrivals(Spacing::Gamma { burstiness: 0.25 }, &[(10.0, 1.0, 1.0)], 7);
    assert_eq!(first(&gamma, 99), GOLDEN_GAMMA);
    let trace = lane(Pace::Trace { gaps_micros: vec![0, 0, 250_000, 750_000] }, 1);
    assert_eq!((first(&trace, 9), trace.count()), (vec![0.0, 0.0, 0.25, 1.0], Some(4)));
    assert_eq!(trace.due_before(seconds(0.25)), 2);
}

/// Also computed by a program in Python from the description of `gap.rs`.
const GOLDEN_POISSON: [f64; 9] =
    [0.808252, 0.846698, 2.665161, 3.812048, 5.315645, 6.321701, 6.848368, 7.808328, 8.893536];
const GOLDEN_GAMMA: [f64; 21] = [
    0.315565, 7.374919, 7.380535, 7.435159, 7.441564, 7.496439, 7.879373, 7.972579, 8.065338, 8.065338, 8.712341,
    8.792793, 8.793072, 8.907168, 8.919565, 9.05821, 9.513003, 9.655215, 9.874986, 9.903055, 9.958923,
];

#[test]
fn slots_follow_their_stages_and_start_nothing_at_their_end() {
    let slots = profile(&[(10.0, 0.0, 10.0), (5.0, 20.0, 20.0)]);
    let timed = lane(Pace::Slots { slots: slots.clone(), trials: None, ends_micros: Some(15_000_000) }, 1);
    let at = |lane: &Lane, time: f64| lane.slots_at(seconds(time));
    assert_eq!(at(&timed, 0.0), Some(0));
    assert_eq!(at(&timed, 4.6), Some(5));
    assert_eq!((at(&timed, 10.0), at(&timed, 14.999), at(&timed, 15.0)), (Some(20), Some(20), Some(0)));
    assert_eq!((timed.count(), timed.due(0), timed.due_before(seconds(99.0))), (None, None, 0));
    let counted = lane(Pace::Slots { slots, trials: Some(100), ends_micros: None }, 1);
    assert_eq!((at(&counted, 999.0), counted.count(), counted.ends()), (Some(20), Some(100), None));
    let group = LoadGroup {
        name: String::new(),
        pace: Pace::Slots { slots: profile(&[(10.0, 0.0, 10.0)]), trials: None, ends_micros: Some(15_000_000) },
        mix: Vec::new(),
    };
    let mut load = schedule(Load { groups: vec![group], warm_up_micros: 0, drop_after_micros: 1, search: None }, 1);
    load.set_slots(0, 40, seconds(4.6));
    let timed = &load.lanes()[0];
    assert_eq!([4.59, 4.6, 14.9, 15.0].map(|time| at(timed, time)), [Some(5), Some(40), Some(40), Some(0)]);
}

/// Kolmogorov and Smirnov: the largest distance between the empirical distribution and this one, times √n. Above 1.63 in one of
/// a hundred samples.
fn kolmogorov_smirnov(mut sample: Vec<f64>, distribution: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let many = sample.len() as f64;
    let distances = sample.iter().enumerate().map(|(index, value)| {
        let expected = distribution(*value);
        (expected - index as f64 / many).abs().max(((index + 1) as f64 / many - expected).abs())
    });
    distances.fold(0.0, f64::max) * many.sqrt()
}

fn gaps(dues: &[Duration]) -> Vec<f64> {
    dues.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect()
}

#[test]
fn a_hundred_thousand_poisson_arrivals_pass_the_test_of_kolmogorov_and_smirnov() {
    let lane = arrivals(Spacing::Poisson, &[(100.0, 1000.0, 1000.0)], 20_261_123);
    let dues: Vec<Duration> = lane.dues(0).collect();
    assert!((99_000..101_000).contains(&dues.len()), "{}", dues.len());
    let found = kolmogorov_smirnov(gaps(&dues), |gap| 1.0 - (-1000.0 * gap).exp());
    assert!(found < 1.63, "{found}");
    let dispersion = dispersion(&lane, 0.1, 1000);
    assert!((dispersion - 1.0).abs() < 0.05, "{dispersion}");
}

/// The variance of the number of arrivals in a window, divided by its mean.
fn dispersion(lane: &Lane, window: f64, windows: u32) -> f64 {
    let before: Vec<u64> = (0..=windows).map(|index| lane.due_before(seconds(window * f64::from(index)))).collect();
    let counts: Vec<f64> = before.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let (mean, variance) = mean_and_variance(&counts);
    variance / mean
}

fn mean_and_variance(sample: &[f64]) -> (f64, f64) {
    let many = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / many;
    (mean, sample.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (many - 1.0))
}

#[test]
fn ramped_poisson_arrivals_are_exponential_where_the_rate_is_one() {
    let lane = arrivals(Spacing::Poisson, &[(200.0, 0.0, 1000.0)], 3);
    // The area under 5 t is 2.5 t².
    let areas: Vec<f64> = lane.dues(0).map(|due| 2.5 * due.as_secs_f64().powi(2)).collect();
    let gaps: Vec<f64> = areas.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let found = kolmogorov_smirnov(gaps, |gap| 1.0 - (-gap).exp());
    assert!(found < 1.63, "{found}");
}

#[test]
fn gamma_gaps_have_the_mean_of_the_rate_and_the_variance_of_the_burstiness() {
    for burstiness in [0.25, 0.9, 1.0, 4.0, 50.0] {
        let lane = arrivals(Spacing::Gamma { burstiness }, &[(10_000.0, 10.0, 10.0)], 11);
        let dues: Vec<Duration> = lane.dues(0).collect();
        let (mean, variance) = mean_and_variance(&gaps(&dues));
        assert!((mean * 10.0 - 1.0).abs() < 0.02, "{burstiness}: {mean}");
        let found = variance * 100.0 * burstiness;
        assert!((found - 1.0).abs() < 0.05, "{burstiness}: {found}");
    }
}

fn any_lane() -> impl Strategy<Value = Lane> {
    let stage = (1_u64..20_000_000, 0.0_f64..50.0, 0.0_f64..50.0);
    let stages = prop::collection::vec(stage, 1..6);
    let spacing = prop_oneof![
        Just(Spacing::Even),
        Just(Spacing::Poisson),
        (0.1_f64..5.0).prop_map(|burstiness| Spacing::Gamma { burstiness }),
    ];
    (stages, spacing, any::<u64>()).prop_map(|(stages, spacing, seed)| {
        let stages = stages.into_iter().map(|(micros, from, to)| Stage { micros, from, to });
        lane(Pace::Arrivals { spacing, rate: Profile { stages: stages.collect() } }, seed)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dues_ascend_and_agree_with_their_count(lane in any_lane(), times in prop::collection::vec(0_u64..120_000_000, 20)) {
        let dues: Vec<Duration> = lane.dues(0).collect();
        prop_assert_eq!(Some(dues.len() as u64), lane.count());
        prop_assert!(dues.is_sorted());
        prop_assert!(dues.last() < lane.ends().as_ref());
        prop_assert_eq!(lane.due_before(lane.ends().unwrap()), dues.len() as u64);
        for micros in times {
            let time = Duration::from_micros(micros);
            prop_assert_eq!(lane.due_before(time), dues.iter().filter(|due| **due < time).count() as u64);
        }
    }

    /// Workers compute their own ranges.
    #[test]
    fn ranges_computed_apart_are_the_whole(lane in any_lane(), cuts in prop::collection::vec(0_u64..3000, 0..5)) {
        let whole: Vec<Duration> = lane.dues(0).collect();
        let mut cuts: Vec<u64> = cuts.into_iter().filter(|cut| *cut < whole.len() as u64).collect();
        cuts.extend([0, whole.len() as u64]);
        cuts.sort_unstable();
        let parts = cuts.windows(2).flat_map(|cut| {
            let many = usize::try_from(cut[1] - cut[0]).unwrap();
            lane.clone().dues(cut[0]).take(many).collect::<Vec<_>>()
        });
        prop_assert!(parts.eq(whole.iter().copied()));
        if let Some(last) = (whole.len() as u64).checked_sub(1) {
            prop_assert_eq!(lane.due(last), whole.last().copied());
        }
    }

    /// Workers hold arrivals that are due soon, and get the changes of a rate with their next leases.
    #[test]
    fn a_change_of_the_rate_moves_only_what_is_due_later(
        planned in any_lane(),
        mut changes in prop::collection::vec((0_u64..100_000_000, 0.01_f64..60.0), 1..4),
    ) {
        changes.sort_by_key(|(from, _)| *from);
        let mut lane = planned.clone();
        for (from, rate) in changes {
            let change = RateChange { from: Duration::from_micros(from), rate };
            if let Some(why) = lane.refuses_rate(change) {
                prop_assert!(Some(change.from) >= lane.ends(), "{why}");
                continue;
            }
            let changed = lane.with_rates(&[change]);
            let kept = usize::try_from(lane.due_before(change.from)).unwrap();
            let (before, after): (Vec<Duration>, Vec<Duration>) = (lane.dues(0).collect(), changed.dues(0).collect());
            prop_assert_eq!(&before[..kept], &after[..kept]);
            prop_assert!(after[kept..].iter().all(|due| *due >= change.from));
            prop_assert!(after.is_sorted() && after.last() < changed.ends().as_ref());
            prop_assert_eq!((changed.count(), changed.ends()), (Some(after.len() as u64), lane.ends()));
            prop_assert_eq!(changed.due_before(change.from), kept as u64);
            lane = changed;
        }
        prop_assert_eq!(planned.with_rates(lane.rates()), lane);
    }

    #[test]
    fn even_arrivals_are_as_many_as_the_area(stages in prop::collection::vec((1_u64..50, 0_u32..40, 0_u32..40), 1..6)) {
        let stages: Vec<(f64, f64, f64)> =
            stages.into_iter().map(|(length, from, to)| (length as f64, f64::from(from), f64::from(to))).collect();
        let area: f64 = stages.iter().map(|(length, from, to)| length * (from + to) / 2.0).sum();
        prop_assert_eq!(arrivals(Spacing::Even, &stages, 0).count(), Some(area.ceil() as u64));
    }
}

#[test]
fn a_changed_rate_holds_until_the_end_of_the_lane() {
    let ramp = arrivals(Spacing::Even, &[(10.0, 0.0, 10.0), (10.0, 10.0, 10.0)], 1);
    let change = |from: f64, rate: f64| RateChange { from: seconds(from), rate };
    let faster = ramp.with_rates(&[change(12.0, 20.0)]);
    assert_eq!((faster.count(), faster.ends()), (Some(50 + 20 + 8 * 20), ramp.ends()));
    assert_eq!(
        (faster.due(69), faster.due(70), faster.due(71)),
        (ramp.due(69), Some(seconds(12.0)), Some(seconds(12.05)))
    );
    let slower = faster.with_rates(&[change(14.0, 1.0)]);
    assert_eq!((slower.count(), slower.due(111)), (Some(70 + 40 + 6), Some(seconds(15.0))));
    let poisson = arrivals(Spacing::Poisson, &[(100.0, 50.0, 50.0)], 3).with_rates(&[change(50.0, 500.0)]);
    let gaps: Vec<f64> = gaps(&poisson.dues(poisson.due_before(seconds(50.0))).collect::<Vec<_>>());
    assert!((24_000..26_000).contains(&gaps.len()), "{}", gaps.len());
    let found = kolmogorov_smirnov(gaps, |gap| 1.0 - (-500.0 * gap).exp());
    assert!(found < 1.63, "arrivals stay Poisson: {found}");

    let slots = lane(Pace::Slots { slots: profile(&[(1.0, 3.0, 3.0)]), trials: Some(9), ends_micros: None }, 1);
    let drawn = arrivals(Spacing::Poisson, &[(86_400.0, 1.0, 1.0)], 1);
    for (lane, change, why) in [
        (&slots, change(0.0, 1.0), "it plays in slots, not at a rate"),
        (&lane(Pace::Trace { gaps_micros: vec![0, 9] }, 1), change(0.0, 1.0), "it starts at the times of a trace"),
        (&ramp, change(1.0, 0.0), "a rate of 0/s is not possible; more than 0/s and at most 1000000/s is"),
        (&ramp, change(1.0, f64::NAN), "a rate of NaN/s is not possible; more than 0/s and at most 1000000/s is"),
        (&ramp, change(20.0, 1.0), "its last starts are on their way"),
        (&drawn, change(0.0, 200.0), "until its end that would be more than 10000000 starts"),
    ] {
        assert_eq!(lane.refuses_rate(change).as_deref(), Some(why));
    }
}

#[test]
fn two_lanes_of_one_pace_have_their_own_gaps() {
    let pace = || Pace::Arrivals { spacing: Spacing::Poisson, rate: profile(&[(60.0, 1.0, 1.0)]) };
    let group = |name: &str| LoadGroup { name: name.to_owned(), pace: pace(), mix: Vec::new() };
    let load = Load { groups: vec![group("a"), group("b")], warm_up_micros: 5, drop_after_micros: 7, search: None };
    let schedule = schedule(load, 1);
    let [a, b] = schedule.lanes() else { panic!("two lanes") };
    assert_ne!(first(a, 5), first(b, 5));
    assert_eq!(schedule.count(), Some(a.count().unwrap() + b.count().unwrap()));
    let micros = Duration::from_micros;
    assert!(schedule.is_warm_up(micros(4)) && !schedule.is_warm_up(micros(5)) && schedule.drop_after() == micros(7));
}

#[test]
fn even_lanes_of_one_rate_do_not_start_in_the_same_moments() {
    let pace = Pace::Arrivals { spacing: Spacing::Even, rate: Profile::constant(10.0, 60_000_000) };
    let group = |name: &str| LoadGroup { name: name.to_owned(), pace: pace.clone(), mix: Vec::new() };
    let groups = ["a", "b", "c"].map(group).to_vec();
    let load = Load { groups, warm_up_micros: 0, drop_after_micros: USUAL_DROP_AFTER_MICROS, search: None };
    let schedule = schedule(load, 5);
    let first: Vec<Duration> = schedule.lanes().iter().filter_map(|lane| lane.due(0)).collect();
    assert_eq!((first[0], first.len()), (Duration::ZERO, 3));
    assert!(first[1] != first[0] && first[2] != first[1] && first.iter().all(|due| *due < seconds(0.1)), "{first:?}");
    for lane in schedule.lanes() {
        let dues: Vec<Duration> = lane.dues(0).collect();
        assert_eq!(dues.len(), 600, "as many as the rate says");
        assert!(dues.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(seconds(0.1)) <= Duration::from_micros(1)));
    }
}

#[test]
fn the_steady_part_of_a_load_is_where_no_lane_changes_its_pace() {
    let even = |stages: &[(f64, f64, f64)]| Pace::Arrivals { spacing: Spacing::Even, rate: profile(stages) };
    let slots = |stages: &[(f64, f64, f64)], trials, ends: Option<f64>| Pace::Slots {
        slots: profile(stages),
        trials,
        ends_micros: ends.map(|ends| (ends * 1e6) as u64),
    };
    let of = |paces: Vec<Pace>, warm_up: u64| {
        let groups = paces.into_iter().map(|pace| LoadGroup { name: String::new(), pace, mix: Vec::new() }).collect();
        let load = Load {
            groups,
            warm_up_micros: warm_up * 1_000_000,
            drop_after_micros: USUAL_DROP_AFTER_MICROS,
            search: None,
        };
        schedule(load, 1).steady().map(|steady| (steady.start.as_secs(), steady.end))
    };
    let until = |start: u64, end: f64| Some((start, seconds(end)));
    assert_eq!(of(vec![even(&[(60.0, 5.0, 5.0)])], 0), until(0, 60.0));
    assert_eq!(of(vec![even(&[(60.0, 5.0, 5.0)])], 10), until(10, 60.0), "without the warm-up");
    assert_eq!(of(vec![even(&[(60.0, 5.0, 5.0)])], 60), None);
    let ramp = [(30.0, 0.0, 5.0), (50.0, 5.0, 5.0), (20.0, 5.0, 5.0), (10.0, 5.0, 0.0)];
    assert_eq!(of(vec![even(&ramp)], 0), until(30, 100.0), "stages of one rate are one");
    let spike = [(40.0, 1.0, 1.0), (5.0, 9.0, 9.0), (30.0, 1.0, 1.0)];
    assert_eq!(of(vec![even(&spike)], 0), until(0, 40.0));
    assert_eq!(of(vec![even(&[(60.0, 0.0, 5.0)])], 0), None);
    assert_eq!(of(vec![Pace::Trace { gaps_micros: vec![0, 5] }], 0), None);
    // The other lane is over at 20 s.
    assert_eq!(of(vec![even(&[(60.0, 5.0, 5.0)]), even(&[(20.0, 1.0, 1.0)])], 0), until(20, 60.0));
    // Slots keep their last number until their end, or for ever.
    assert_eq!(of(vec![slots(&[(10.0, 0.0, 4.0)], None, Some(70.0))], 0), until(10, 70.0));
    assert_eq!(of(vec![slots(&[(10.0, 4.0, 4.0)], Some(100), None)], 0), Some((0, Duration::MAX)));
    let both = vec![slots(&[(10.0, 4.0, 4.0)], Some(100), None), even(&[(60.0, 1.0, 1.0)])];
    assert_eq!(of(both, 0), None, "nobody knows when the slots have played all");
}

#[test]
fn a_number_is_a_lane_and_a_local_number() {
    for (lane, local) in [(0, 0), (0, 77), (3, 0), (99, MOST_LOCAL - 1)] {
        assert_eq!(lane_and_local(trial_number(lane, local)), (lane, local));
    }
    assert_eq!(trial_number(0, 5), 5);
}

fn plan_of(scenarios: usize, rows: u32, load: Load) -> Plan {
    let run = "run: [{input: hi, evaluations: [{type: string_contains, value: hi}]}]";
    plan_with(&vec![run; scenarios], rows, load)
}

/// A plan of scenarios with these keys.
fn plan_with(scenarios: &[&str], rows: u32, load: Load) -> Plan {
    let mut reading = scenario::Reading::default();
    for (scenario, keys) in scenarios.iter().enumerate() {
        let text = format!("name: s{scenario}\ndescription: d\n{keys}\njudgment: {{strategy: all_pass}}\n");
        let (documents, _) = formats::eliza::FORMAT.open(&text, &format!("s{scenario}.scenario.yaml"));
        let files = documents.into_iter().map(|document| formats::scenario_file(formats::eliza::FORMAT, document).0);
        reading.scenarios.extend(files.map(|file| file.expect("a scenario")));
    }
    let mut plan = build(&reading, &Choices::default()).expect("a plan");
    for group in &mut plan.groups {
        let values = (0..rows).map(|row| row.to_string().into()).collect();
        group.axes = vec![Axis { parameter: "run[0].input".to_owned(), values }];
    }
    Plan { version: 3, load: Some(load), ..plan }
}

fn share(group: usize, weight: u32, cases: Option<Vec<u64>>) -> Share {
    Share { group, weight, cases }
}

fn load(mixes: Vec<Vec<Share>>) -> Load {
    let pace = Pace::Arrivals { spacing: Spacing::Even, rate: profile(&[(60.0, 1.0, 1.0)]) };
    let group = |(index, mix)| LoadGroup { name: format!("g{index}"), pace: pace.clone(), mix };
    let groups = mixes.into_iter().enumerate().map(group).collect();
    Load { groups, warm_up_micros: 0, drop_after_micros: USUAL_DROP_AFTER_MICROS, search: None }
}

#[test]
fn closed_groups_ask_for_as_many_slots_as_their_paces_say() {
    let slots = |stages: &[(f64, f64, f64)], trials| {
        let slots = profile(stages);
        Pace::Slots { ends_micros: Some(slots.micros()), slots, trials }
    };
    let open = Pace::Arrivals { spacing: Spacing::Even, rate: profile(&[(60.0, 9.0, 9.0)]) };
    // 2 slots and then 10 down to 4, beside 5 slots for three conversations.
    let paces = [slots(&[(10.0, 2.0, 2.0), (10.0, 10.0, 4.0)], None), open, slots(&[(30.0, 5.0, 5.0)], Some(3))];
    let mut whole = load(vec![vec![share(0, 1, None)]; 3]);
    for (group, pace) in whole.groups.iter_mut().zip(paces) {
        group.pace = pace;
    }
    let schedule = plan_of(1, 4, whole).schedule().expect("it has a load");
    let asked = [0, 9, 10, 15, 20, 29, 30].map(|second| schedule.slots_at(Duration::from_secs(second)));
    assert_eq!(asked, [5, 5, 13, 10, 3, 3, 0]);
    assert_eq!(schedule.most_slots(), 13);
}

#[test]
fn every_block_has_the_exact_weights_and_cases_take_turns() {
    let plan = plan_of(3, 4, load(vec![vec![share(0, 5, None), share(1, 2, Some(vec![0, 3])), share(2, 1, None)]]));
    let drawn: Vec<Trial> = (0..8 * 40).map(|number| plan.trial(number).expect("a trial")).collect();
    let mut orders = BTreeSet::new();
    for block in drawn.chunks(8) {
        let order: Vec<u64> = block.iter().map(|trial| trial.case / 4).collect();
        let many = |scenario: u64| order.iter().filter(|other| **other == scenario).count();
        assert_eq!((many(0), many(1), many(2)), (5, 2, 1));
        orders.insert(order);
    }
    assert!(orders.len() > 10, "each block has an order of its own");
    let mut repeats: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for trial in &drawn {
        repeats.entry(trial.case).or_default().push(trial.repeat);
    }
    // 200, 80 and 40 conversations of three scenarios, over 4, 2 and 4 cases.
    let expected: BTreeMap<u64, u32> =
        [(0, 50), (1, 50), (2, 50), (3, 50), (4, 40), (7, 40), (8, 10), (9, 10), (10, 10), (11, 10)].into();
    for (case, mut found) in repeats.clone() {
        found.sort_unstable();
        assert!(found.into_iter().eq(0..expected[&case]), "case {case}");
    }
    assert_eq!(repeats.len(), expected.len());
}

#[test]
fn lanes_that_share_a_case_never_play_the_same_repeat() {
    let plan = plan_of(2, 1, load(vec![vec![share(0, 1, None), share(1, 1, None)], vec![share(0, 1, None)]]));
    let mut ids = BTreeSet::new();
    for (lane, local) in (0..40).map(|local| (0, local)).chain((0..20).map(|local| (1, local))) {
        let trial = plan.trial(trial_number(lane, local)).expect("a trial");
        assert_eq!(trial.number, trial_number(lane, local));
        assert!(ids.insert((trial.case, trial.repeat)), "{trial:?}");
    }
    // 20 conversations of case 0 in each lane, and 20 of case 1.
    assert!((0..40).all(|repeat| ids.contains(&(0, repeat))) && (0..20).all(|repeat| ids.contains(&(1, repeat))));
}

#[test]
fn a_sample_has_the_calls_and_the_pauses_of_a_conversation() {
    let quiet = "run: [{input: hi, evaluations: []}]";
    let slow = "gabfest: {think_time: {ms: 1500}}\nrun: [{input: a, evaluations: []}, {input: b, evaluations: []}, {input: c, evaluations: []}]";
    let plan = plan_with(&[quiet, slow], 1, load(vec![vec![share(0, 1, None), share(1, 1, None)]]));
    let sample = Sample::of(&plan, 0, formats::ALL);
    // One line without a pause, and three with one before the second and the third.
    assert_eq!(sample.mean_pause(), seconds(1.5));
    let size = sample.times(100);
    assert_eq!((size.trials, size.conversations, size.typical.agent.calls), (100, 100, 200));
}

#[test]
fn a_load_changes_which_trials_are_played_and_not_their_seeds() {
    let plan = plan_of(2, 3, load(vec![vec![share(0, 1, None), share(1, 1, None)]]));
    let mut repeated = Plan { load: None, ..plan.clone() };
    repeated.groups.iter_mut().for_each(|group| group.repeats = 2);
    let seeds = |plan: &Plan| -> BTreeMap<_, _> {
        let trials = (0..12).map(|number| plan.trial(number).expect("a trial"));
        trials.map(|trial| (trial.id.as_str().to_owned(), trial.seed)).collect()
    };
    assert_eq!(seeds(&plan), seeds(&repeated));
    assert_eq!((plan.planned(), repeated.planned()), (Some(60), Some(12)));
    let closed = Pace::Slots { slots: profile(&[(1.0, 3.0, 3.0)]), trials: None, ends_micros: Some(1_000_000) };
    let mut timed = plan.clone();
    timed.load.as_mut().unwrap().groups[0].pace = closed;
    assert_eq!(timed.planned(), None);
}

#[test]
fn a_plan_with_a_load_is_read_again_and_a_broken_load_is_refused() {
    let whole = load(vec![vec![share(0, 3, Some(vec![0, 1])), share(1, 1, None)]]);
    let plan = plan_of(2, 2, whole.clone());
    let text = plan.to_json();
    assert!(text.contains("\"version\":3"), "older builds refuse it");
    assert_eq!(Plan::from_json(&text).expect("it fits"), plan);
    let broken = |change: &dyn Fn(&mut Load)| {
        let mut load = whole.clone();
        change(&mut load);
        Plan::from_json(&plan_of(2, 2, load).to_json()).expect_err("it does not fit").to_string()
    };
    let even = |stages: &[(f64, f64, f64)]| Pace::Arrivals { spacing: Spacing::Even, rate: profile(stages) };
    type Change<'a> = &'a dyn Fn(&mut Load);
    let table: [(Change<'_>, &str); 14] = [
        (&|load| load.groups.clear(), "its load has 0 groups"),
        (&|load| load.groups.extend(load.groups.clone()), "two load groups are called `g0`"),
        (&|load| load.groups[0].mix.clear(), "it plays no scenario"),
        (&|load| load.groups[0].mix[0].group = 2, "its choice of cases of group 2 does not fit"),
        (&|load| load.groups[0].mix[0].weight = 0, "does not fit"),
        (&|load| load.groups[0].mix[0].cases = Some(vec![1, 0]), "does not fit"),
        (&|load| load.groups[0].mix[0].cases = Some(vec![2]), "does not fit"),
        (&|load| load.groups[0].pace = even(&[]), "0 stages"),
        (&|load| load.groups[0].pace = even(&[(0.0, 1.0, 1.0)]), "no duration"),
        (&|load| load.groups[0].pace = even(&[(1.0, -1.0, 1.0)]), "goes from -1 to 1"),
        (&|load| load.groups[0].pace = even(&[(1.0, 0.0, 0.0)]), "it starts nothing"),
        (
            &|load| {
                let rate = profile(&[(86_400.0, 200.0, 200.0)]);
                load.groups[0].pace = Pace::Arrivals { spacing: Spacing::Poisson, rate };
            },
            "more arrivals than can be numbered",
        ),
        (
            &|load| {
                let slots = profile(&[(1.0, 1.0, 1.0)]);
                load.groups[0].pace = Pace::Slots { slots, trials: None, ends_micros: None };
            },
            "its slots play for ever",
        ),
        (&|load| load.groups[0].pace = Pace::Trace { gaps_micros: Vec::new() }, "its trace has 0 arrivals"),
    ];
    for (change, expected) in table {
        let found = broken(change);
        assert!(found.contains(expected), "{found}, not {expected}");
    }
}
