use proptest::prelude::*;
use rand_distr::{Beta, Distribution as _};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng as _};
use serde::Deserialize;

use super::*;

/// `reference/noise.py`.
const REFERENCE: &str = include_str!("../../../reference/noise.json");

#[derive(Deserialize)]
struct Reference {
    mixed: Vec<Mixed>,
    binary: Vec<Binary>,
}

#[derive(Deserialize)]
struct Mixed {
    cases: Vec<Vec<Played>>,
    judge: f64,
    agent: f64,
    between: f64,
}

#[derive(Deserialize)]
struct Binary {
    cases: Vec<Vec<Played>>,
    parts: [f64; 3],
    shares: Vec<(f64, Option<f64>, Option<f64>)>,
}

#[derive(Deserialize, Clone)]
struct Played {
    judged: Vec<f64>,
    replays: Vec<Vec<f64>>,
}

fn cases(of: &[Vec<Played>]) -> Vec<Case> {
    of.iter()
        .enumerate()
        .map(|(place, conversations)| Case {
            name: place.to_string(),
            conversations: conversations
                .iter()
                .map(|Played { judged, replays }| Conversation { judged: judged.clone(), replays: replays.clone() })
                .collect(),
        })
        .collect()
}

#[test]
fn the_parts_of_balanced_scores_are_those_of_restricted_maximum_likelihood() {
    let reference: Reference = serde_json::from_str(REFERENCE).unwrap();
    for mixed in reference.mixed {
        let found = of(&cases(&mixed.cases)).unwrap();
        let expected = [mixed.judge, mixed.agent, mixed.between - mixed.agent];
        for (part, expected) in found.parts.iter().zip(expected) {
            assert!((part.unlimited - expected).abs() < 1e-5 * expected, "{part:?}, not {expected}");
        }
        assert_eq!(found.parts.len(), 3);
    }
}

#[test]
fn the_shares_of_verdicts_and_their_intervals_are_those_of_leaving_out() {
    let reference: Reference = serde_json::from_str(REFERENCE).unwrap();
    for binary in reference.binary {
        let found = of(&cases(&binary.cases)).unwrap();
        let replayed = found.replayed_mean.is_some();
        let [judge, agent, between] = binary.parts;
        let expected = if replayed { vec![judge, agent, between - agent] } else { vec![judge, between] };
        assert_eq!(found.parts.len(), expected.len());
        for ((part, expected), (share, low, high)) in found.parts.iter().zip(expected).zip(binary.shares) {
            assert!((part.unlimited - expected).abs() < 1e-9, "{part:?}, not {expected}");
            assert!((part.share.unwrap() - share).abs() < 1e-9, "{part:?}, not {share}");
            if let (Some(low), Some(high)) = (low, high) {
                assert!((part.low - low).abs() < 1e-6 && (part.high - high).abs() < 1e-6, "{part:?}: {low} {high}");
            }
        }
    }
}

fn conversation(judged: &[f64], replays: &[&[f64]]) -> Conversation {
    Conversation { judged: judged.to_vec(), replays: replays.iter().map(|replay| replay.to_vec()).collect() }
}

fn case(conversations: Vec<Conversation>) -> Case {
    Case { name: "case".to_owned(), conversations }
}

#[test]
fn a_split_needs_two_conversations_and_two_judgings() {
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[case(vec![conversation(&[1.0, 0.0], &[])])]), None);
    assert_eq!(of(&[case(vec![conversation(&[1.0], &[]), conversation(&[0.0], &[])])]), None);
    let enough = case(vec![conversation(&[1.0, 1.0], &[]), conversation(&[0.0, 0.0], &[])]);
    let found = of(&[enough, case(vec![conversation(&[1.0], &[])])]).unwrap();
    assert_eq!((found.cases, found.left_out, found.conversations, found.judgings), (1, 1, 2, 4));
    let layers: Vec<_> = found.parts.iter().map(|part| (part.layer, part.share)).collect();
    assert_eq!(layers, [(Layer::Judge, Some(0.0)), (Layer::Remaining, Some(1.0))]);
    assert!(found.parts[0].low == 0.0 && found.parts[0].high > 0.3, "two transcripts that agree show little");
}

#[test]
fn conversations_that_never_differ_have_no_parts() {
    let calm = case(vec![conversation(&[1.0, 1.0], &[&[1.0], &[1.0]]); 3]);
    let found = of(&[calm.clone(), calm]).unwrap();
    assert_eq!((found.variance, found.mean, found.replayed_mean, found.between_cases), (0.0, 1.0, Some(1.0), 0.0));
    assert!(found.parts.iter().all(|part| part.share.is_none() && (part.low, part.high) == (0.0, 1.0)), "{found:?}");
}

/// Chances to pass are drawn for each user, transcript and judging.
fn planted(draw: &mut Xoshiro256PlusPlus, user: f64, transcript: f64) -> Vec<Case> {
    let chance = |draw: &mut Xoshiro256PlusPlus, mean: f64, alike: f64| {
        let size = 1.0 / alike - 1.0;
        Beta::new((mean * size).max(1e-6), ((1.0 - mean) * size).max(1e-6)).unwrap().sample(draw)
    };
    let judgings = |draw: &mut Xoshiro256PlusPlus, chance: f64, count: usize| -> Vec<f64> {
        (0..count)
            .map(|_| f64::from(u8::from(((draw.next_u64() >> 11) as f64) < chance * (1_u64 << 53) as f64)))
            .collect()
    };
    let one = |draw: &mut Xoshiro256PlusPlus| {
        let said = chance(draw, 0.7, user);
        let recorded = chance(draw, said, transcript);
        let judged = judgings(draw, recorded, 3);
        let replays = (0..2)
            .map(|_| {
                let answered = chance(draw, said, transcript);
                judgings(draw, answered, 2)
            })
            .collect();
        Conversation { judged, replays }
    };
    (0..24).map(|_| case((0..6).map(|_| one(draw)).collect())).collect()
}

#[test]
fn planted_parts_are_recovered() {
    let (user, transcript) = (0.3, 0.6);
    let whole = 0.7 * 0.3;
    let expected = [(1.0 - transcript) * (1.0 - user), transcript * (1.0 - user), user];
    let mut draw = Xoshiro256PlusPlus::seed_from_u64(15);
    let (mut sums, mut held) = ([0.0; 3], [0; 3]);
    let rounds = 200;
    for _ in 0..rounds {
        let found = of(&planted(&mut draw, user, transcript)).unwrap();
        for (index, part) in found.parts.iter().enumerate() {
            sums[index] += part.unlimited / whole / f64::from(rounds);
            held[index] += u32::from((part.low..=part.high).contains(&expected[index]));
        }
    }
    for ((found, expected), held) in sums.into_iter().zip(expected).zip(held) {
        assert!((found - expected).abs() < 0.015, "{found}, not {expected}");
        assert!(held >= rounds * 91 / 100, "{held} of {rounds} intervals hold {expected}");
    }
}

proptest! {
    #[test]
    fn shares_are_shares_in_any_design(
        cases in proptest::collection::vec(
            proptest::collection::vec(
                (
                    proptest::collection::vec(0_u8..2, 0..4),
                    proptest::collection::vec(proptest::collection::vec(0_u8..2, 0..3), 0..4),
                ),
                0..5,
            ),
            0..14,
        ),
    ) {
        let scores = |of: Vec<u8>| of.into_iter().map(f64::from).collect::<Vec<f64>>();
        let cases: Vec<Case> = cases
            .into_iter()
            .map(|conversations| {
                let one = |(judged, replays): (Vec<u8>, Vec<Vec<u8>>)| Conversation {
                    judged: scores(judged),
                    replays: replays.into_iter().map(scores).collect(),
                };
                case(conversations.into_iter().map(one).collect())
            })
            .collect();
        let Some(found) = of(&cases) else { return Ok(()) };
        prop_assert!((0.0..=1.0).contains(&found.mean) && found.variance.is_finite() && found.between_cases >= 0.0);
        prop_assert_eq!(found.cases + found.left_out, cases.len() as u64);
        for part in &found.parts {
            prop_assert!(part.variance >= 0.0 && part.unlimited.is_finite(), "{:?}", part);
            prop_assert!(0.0 <= part.low && part.low <= part.high && part.high <= 1.0, "{:?}", part);
            let share = part.share.unwrap_or(part.low);
            prop_assert!(part.low <= share + 1e-9 && share <= part.high + 1e-9, "{:?}", part);
        }
        let whole: f64 = found.parts.iter().filter_map(|part| part.share).sum();
        prop_assert!(found.variance == 0.0 || (whole - 1.0).abs() < 1e-9);
    }
}
