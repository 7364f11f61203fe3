//! Plans keep their promises for any battery and any seed.

use proptest::prelude::*;

use formats::battery::{
    saved::{parse, write},
    shipped,
};
use scenario::{
    Battery,
    battery::{
        Augmentation, Injection, Part, Requirement, Saved, Shown, Test, Tester, Thresholds,
        planning::{least_turns, opening, plan},
    },
};

fn battery(length: u32, probabilities: &[f64], max_wait: u32) -> Battery {
    let sum: f64 = probabilities.iter().sum();
    let injections = Requirement::ALL
        .into_iter()
        .filter(|it| it.data().is_some())
        .zip(probabilities)
        .map(|(requirement, share)| Injection {
            requirement,
            probability: if sum > 1.0 { share / sum } else { *share },
            max_sets: 3,
            max_wait,
        })
        .collect();
    Battery {
        length,
        turn_timeout_ms: 1_000,
        tester: Tester::Lines(vec!["hi".to_owned()]),
        tester_memory: 2,
        agent_memory: None,
        random_start: false,
        injections,
        observed: Vec::new(),
        required: Vec::new(),
        thresholds: Thresholds::default(),
        sets: shipped(false),
        replacement: Default::default(),
        augmentation: Augmentation::default(),
        shown: Shown::default(),
        compat: None,
        saved: None,
    }
}

proptest! {
    #[test]
    fn every_question_follows_its_information(
        seed: u64, length in 1_u32..60, probabilities in proptest::collection::vec(0.0..1.0_f64, 11), wait in 1_u32..8,
    ) {
        let battery = battery(length, &probabilities, wait);
        let exam = plan(&battery, seed);
        prop_assert_eq!(&exam, &plan(&battery, seed));
        prop_assert_eq!(exam.turns.len(), length as usize);
        prop_assert!(exam.turns.first().is_none_or(Option::is_none));
        // A later question belongs to exactly one piece of information: each is ticked off when it is found.
        let mut open: Vec<(Requirement, u32, usize, usize)> = Vec::new();
        for (turn, test) in exam.turns.iter().enumerate() {
            let Some(test) = test else { continue };
            let set = exam.set(test.requirement, test.set).expect("its data is in the plan");
            prop_assert_eq!(Some(set.kind), test.requirement.data());
            let single = matches!(test.requirement, Requirement::Consistency | Requirement::InputFiltering);
            match test.part {
                Part::Information => {
                    prop_assert!(set.information.contains(&test.text) && test.mutation.is_none());
                    let questions = if test.requirement.garbles() { 3 } else { 1 };
                    open.push((test.requirement, test.set, turn, questions));
                }
                Part::Question if single => prop_assert!(set.information.contains(&test.text)),
                Part::Question => {
                    prop_assert_eq!(test.mutation.is_some(), test.requirement.garbles());
                    prop_assert!(test.mutation.is_some() || set.questions.contains(&test.text));
                    let reach = if test.requirement == Requirement::LongMemory { wait as usize } else { 3 };
                    let asked = open.iter_mut().find(|(requirement, id, told, left)| {
                        (*requirement, *id) == (test.requirement, test.set) && *left > 0 && turn - told <= reach
                    });
                    let asked = asked.expect("it was told before, and not too long ago");
                    asked.3 -= 1;
                }
            }
        }
        prop_assert!(open.iter().all(|(_, _, _, left)| *left == 0), "every piece of information is asked about");
    }

    #[test]
    fn a_plan_survives_being_saved(seed: u64, probabilities in proptest::collection::vec(0.0..1.0_f64, 11)) {
        let mut battery = battery(30, &probabilities, 5);
        battery.augmentation.copies = 1;
        let examination = plan(&battery, seed);
        let exchange = |test: &Option<Test>| {
            (test.as_ref().map_or_else(|| "free".to_owned(), |test| test.text.clone()), "it's \"fine\"".to_owned())
        };
        let saved = Saved { exchanges: examination.turns.iter().map(exchange).collect(), examination };
        let again = parse(&write(&saved)).unwrap();
        prop_assert_eq!(&again.examination.sets, &saved.examination.sets);
        let ids = |saved: &Saved| -> Vec<_> {
            let tests = saved.examination.turns.iter();
            tests.map(|test| test.as_ref().map(|test| (test.requirement, test.set, test.part))).collect()
        };
        prop_assert_eq!(ids(&again), ids(&saved));
        let levels = |saved: &Saved| -> Vec<_> {
            let tests = saved.examination.turns.iter().flatten();
            tests.map(|test| test.mutation.as_ref().map(|mutation| mutation.values.level())).collect()
        };
        prop_assert_eq!(levels(&again), levels(&saved));
        prop_assert_eq!(write(&again), write(&saved));
    }
}

#[test]
fn each_requirement_is_placed_when_it_has_just_enough_turns() {
    for (place, requirement) in Requirement::ALL.into_iter().filter(|it| it.data().is_some()).enumerate() {
        let mut probabilities = [0.0; 11];
        probabilities[place] = 1.0;
        let least = least_turns(requirement, 4);
        let placed = |length: u32| {
            (0..20).any(|seed| plan(&battery(length, &probabilities, 4), seed).turns.iter().any(Option::is_some))
        };
        assert!(placed(least) && !placed(least - 1), "{requirement:?}");
    }
}

#[test]
fn chance_is_divided_as_it_is_written() {
    let mut probabilities = [0.0; 11];
    probabilities[10] = 0.25;
    let trials = 400;
    let tests: usize =
        (0..trials).map(|seed| plan(&battery(41, &probabilities, 1), seed).turns.iter().flatten().count()).sum();
    let (n, found) = (f64::from(40 * u32::try_from(trials).unwrap()), tests as f64);
    assert!((found - n * 0.25).abs() < 5.0 * (n * 0.25 * 0.75).sqrt(), "{found}");
}

#[test]
fn openings_follow_the_seed() {
    assert_eq!(opening(4), opening(4));
    assert!((0..50).map(opening).collect::<std::collections::BTreeSet<_>>().len() > 4);
}
