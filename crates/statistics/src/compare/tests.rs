//! Whole comparisons of small runs, their mirrors, and the reference values for the parts.

use std::collections::BTreeMap;

use proptest::prelude::*;
use record::summary::{Contents, ScenarioContent};
use serde_json::Value;

use super::{
    compare,
    found::{CompareVerdict, Comparison, Direction, Figure, GroupKind, Outcome},
    played::{CellName, Played, PlayedCell, PlayedTrial},
    rate::{self, Stratum, Within},
};

/// Made by `reference/compare.py`.
pub(super) fn reference() -> Value {
    serde_json::from_str(include_str!("../../reference/compare.json")).unwrap()
}

/// `null` is infinite.
pub(super) fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap_or(f64::INFINITY)).collect()
}

pub(super) fn close(found: f64, right: f64, relative: f64, row: &Value) {
    let same = found == right || (found - right).abs() <= relative * right.abs().max(1e-3);
    assert!(same, "{found} instead of {right}: {row}");
}

/// A run of cells `(scenario, persona, outcomes)`: `.` passes, `x` fails, `?` says nothing.
fn run(id: &str, seed: u64, cells: &[(&str, Option<&str>, &str)]) -> Played {
    let mut played = Played::empty(id, seed);
    for (index, (scenario, persona, outcomes)) in cells.iter().enumerate() {
        let trials = outcomes.chars().enumerate().map(|(repeat, outcome)| PlayedTrial {
            repeat: repeat as u32,
            seed: seed * 1_000_000 + index as u64 * 1_000 + repeat as u64,
            passed: match outcome {
                '.' => Some(true),
                'x' => Some(false),
                _ => None,
            },
            response_ms: vec![100.0 + repeat as f64, 200.0],
            ttft_ms: Vec::new(),
            unanswered: 0,
            agent_tokens: 50,
            cost_usd: Some(0.01),
            checks: BTreeMap::new(),
        });
        played.cells.push(PlayedCell {
            cell: CellName {
                scenario: format!("{scenario}.yaml/{scenario}"),
                parameters: Vec::new(),
                persona: persona.map(str::to_owned),
            },
            agent: id.to_owned(),
            title: (*scenario).to_owned(),
            variant: None,
            tags: Vec::new(),
            planned: outcomes.len() as u64,
            quarantined: false,
            trials: trials.collect(),
        });
        played.agents.insert(id.to_owned());
    }
    played
}

fn outcomes(found: &Comparison) -> Vec<Outcome> {
    found.cases.iter().map(|case| case.outcome).collect()
}

#[test]
fn each_case_has_what_became_of_it() {
    let base = run(
        "base",
        1,
        &[
            ("worse", None, "...................."),
            ("broken", None, ".."),
            ("wobbles", None, "...."),
            ("fixed", None, "xx"),
            ("calm", None, ".x.."),
            ("same", None, ".x"),
            ("open", None, "??"),
            ("gone", None, "."),
        ],
    );
    let new = run(
        "new",
        2,
        &[
            ("added", None, "."),
            ("worse", None, ".....xxxxxxxxxxxxxxx"),
            ("broken", None, "xx"),
            ("wobbles", None, "..x."),
            ("fixed", None, ".."),
            ("calm", None, "...."),
            ("same", None, "x."),
            ("open", None, ".."),
        ],
    );
    let found = compare(&base, &new, 0.03);
    use Outcome::{Fixed, Flakier, Gone, MoreStable, New, NewlyFailing, Same, Undecided, Worse};
    assert_eq!(outcomes(&found), [New, Worse, NewlyFailing, Flakier, Fixed, MoreStable, Same, Undecided, Gone]);
    assert_eq!((found.verdict, found.worse_cases), (CompareVerdict::Worse, 1));
    assert_eq!((found.contract.compared, found.contract.only_base, found.contract.only_new), (7, 1, 1));
    assert_eq!((found.rate.base_undecided, found.rate.new_undecided), (2, 0));
}

#[test]
fn the_names_of_agents_do_not_matter_unless_a_run_has_several() {
    let base = run("http://127.0.0.1:1/v1", 1, &[("refund", None, "....")]);
    let mut new = run("http://preview/v1", 1, &[("refund", None, "....")]);
    let found = compare(&base, &new, 0.03);
    assert_eq!((found.contract.compared, found.contract.paired, found.cases[0].agent.as_ref()), (1, 1, None));
    new.cells.push(PlayedCell { agent: "b".to_owned(), ..new.cells[0].clone() });
    new.agents.insert("b".to_owned());
    assert_eq!(outcomes(&compare(&base, &new, 0.03)), [Outcome::New, Outcome::New, Outcome::Gone]);
}

#[test]
fn trials_with_the_same_seeds_are_pairs() {
    // The same 4 trials fail: nothing changed, however many fail.
    let base = run("a", 5, &[("refund", None, "xxxx......")]);
    let same = compare(&base, &run("b", 5, &[("refund", None, "xxxx......")]), 0.03);
    assert_eq!((same.cases[0].paired, same.cases[0].chance), (true, Some(1.0)));
    // 8 of 8 changed pairs fell, which Fisher's test of 10/10 and 2/10 would put at 1 in 1,400.
    let fell =
        compare(&run("a", 5, &[("refund", None, "..........")]), &run("b", 5, &[("refund", None, "xxxxxxxx..")]), 0.03);
    assert!(fell.cases[0].paired && (fell.cases[0].chance.unwrap() - 2.0 / 256.0).abs() < 1e-12, "{:?}", fell.cases[0]);
    let unpaired = compare(&base, &run("b", 6, &[("refund", None, "xxxx......")]), 0.03);
    assert!(!unpaired.cases[0].paired);
}

#[test]
fn a_margin_is_kept_by_many_equal_trials_and_open_with_few() {
    let names: Vec<String> = (0..30).map(|number| format!("s{number}")).collect();
    let cells = |outcomes: &'static str| -> Vec<(&str, Option<&str>, &str)> {
        names.iter().map(|name| (name.as_str(), None, outcomes)).collect()
    };
    let many = compare(&run("a", 1, &cells(".....")), &run("b", 2, &cells(".....")), 0.03);
    assert_eq!(
        (many.verdict, many.rate.clustered, many.rate.chance_if_worse_by_margin),
        (CompareVerdict::NotWorse, false, None)
    );
    let few = compare(&run("a", 1, &cells(".....")[..2]), &run("b", 2, &cells(".....")[..2]), 0.03);
    assert_eq!((few.verdict, few.rate.clustered), (CompareVerdict::CannotTell, false));
    let nothing = compare(&run("a", 1, &[]), &run("b", 2, &[]), 0.03);
    assert_eq!((nothing.verdict, nothing.rate.difference), (CompareVerdict::CannotTell, None));
}

#[test]
fn a_rate_that_rose_is_better_unless_trials_without_a_result_made_it_rise() {
    let names: Vec<String> = (0..30).map(|number| format!("s{number}")).collect();
    let verdict = |base: &'static str, new: &'static str| {
        let cells = |outcomes: &'static str| -> Vec<(&str, Option<&str>, &str)> {
            names.iter().map(|name| (name.as_str(), None, outcomes)).collect()
        };
        let found = compare(&run("a", 1, &cells(base)), &run("b", 2, &cells(new)), 0.03);
        (found.verdict, found.rate.rose)
    };
    assert_eq!(verdict("xx...", "....."), (CompareVerdict::Better, true));
    assert_eq!(verdict("xx...", "....?"), (CompareVerdict::Better, true));
    assert_eq!(verdict("x????", ".x..."), (CompareVerdict::NotWorse, false));
    assert_eq!(verdict(".....", "....."), (CompareVerdict::NotWorse, false));
}

#[test]
fn trials_without_a_result_cannot_make_a_run_worse_or_not_worse() {
    let names: Vec<String> = (0..30).map(|number| format!("s{number}")).collect();
    let cells = |outcomes: &'static str| -> Vec<(&str, Option<&str>, &str)> {
        names.iter().map(|name| (name.as_str(), None, outcomes)).collect()
    };
    let base = run("a", 1, &cells("....."));
    let broken = compare(&base, &run("b", 2, &cells("...??")), 0.03);
    assert_eq!((broken.verdict, broken.rate.decided_by_undecided), (CompareVerdict::CannotTell, true));
    let open = compare(&run("a", 1, &cells("..x..")), &run("b", 2, &cells("..x??")), 0.03);
    assert_eq!((open.verdict, open.rate.decided_by_undecided), (CompareVerdict::CannotTell, true), "{:?}", open.rate);
    let bad = compare(&base, &run("b", 2, &cells("xxxx?")), 0.03);
    assert_eq!((bad.verdict, bad.rate.decided_by_undecided), (CompareVerdict::Worse, false));
    // 20 of 20 before; 2 failed and 18 broke by our fault: no case is worse.
    let ours = compare(
        &run("a", 1, &[("refund", None, "....................")]),
        &run("b", 2, &[("refund", None, "xx??????????????????")]),
        0.03,
    );
    assert_eq!((ours.verdict, ours.cases[0].outcome.is_worse()), (CompareVerdict::CannotTell, false));
}

#[test]
fn slower_and_dearer_cases_and_runs_are_found() {
    let base = run("a", 1, &[("refund", None, ".........."), ("hours", None, "..........")]);
    let mut new = run("b", 2, &[("refund", None, ".........."), ("hours", None, "..........")]);
    for trial in &mut new.cells[0].trials {
        trial.response_ms.iter_mut().for_each(|time| *time *= 3.0);
        trial.cost_usd = Some(0.02);
    }
    let found = compare(&base, &new, 0.03);
    let changed = |index: usize| {
        let case = &found.cases[index];
        (case.response_ms.and_then(|moved| moved.changed), case.cost_usd.and_then(|moved| moved.changed))
    };
    assert_eq!((changed(0), changed(1)), ((Some(Direction::Up), Some(Direction::Up)), (None, None)));
    for trial in &mut new.cells[1].trials {
        (trial.response_ms, trial.unanswered) = (Vec::new(), 2);
    }
    let found = compare(&base, &new, 0.03);
    let silent = found.cases[1].response_ms.unwrap();
    assert_eq!((silent.new, silent.changed), (None, Some(Direction::Up)), "no answer is slower than any");
    let median = found.figures.iter().find(|figure| figure.figure == Figure::ResponseP50Ms).unwrap();
    assert_eq!((median.changed, median.new_unanswered), (Some(Direction::Up), 20));
    new.cells[0].trials[0].cost_usd = None;
    let found = compare(&base, &new, 0.03);
    assert!(
        found.cases[0].cost_usd.is_none() && found.figures.iter().all(|figure| figure.figure != Figure::CostP50Usd)
    );
}

#[test]
fn groups_sum_their_cases_and_repeat_none() {
    let cells = [("refund", Some("calm"), ".."), ("refund", Some("angry"), ".x"), ("hours", Some("calm"), "xx")];
    let found = compare(&run("a", 1, &cells), &run("b", 2, &cells), 0.03);
    let groups: Vec<(GroupKind, &str, u64, u64)> =
        found.groups.iter().map(|group| (group.kind, group.name.as_str(), group.base_pass, group.new_trials)).collect();
    use GroupKind::{Persona, Scenario};
    assert_eq!(
        groups,
        [(Scenario, "hours", 0, 2), (Scenario, "refund", 3, 4), (Persona, "angry", 1, 2), (Persona, "calm", 2, 4)]
    );
    let alone = compare(&run("a", 1, &cells[..1]), &run("b", 2, &cells[..1]), 0.03);
    assert!(alone.groups.is_empty(), "a group of one case is the case");
}

#[test]
fn what_differs_besides_the_agent_is_listed() {
    let contents = |digest: &str, persona: &str| Contents {
        scenarios: [("refund.yaml/refund".to_owned(), ScenarioContent { digest: digest.to_owned(), tags: Vec::new() })]
            .into(),
        personas: [("calm".to_owned(), persona.to_owned())].into(),
        endpoints: [("gpt".to_owned(), digest.to_owned())].into(),
    };
    let model = |name: &str| {
        [("judge".to_owned(), [name.to_owned()].into()), ("agent".to_owned(), [name.to_owned()].into())].into()
    };
    let cells = [("refund", Some("calm"), "..")];
    let mut base = run("a", 1, &cells);
    let mut new = run("b", 2, &cells);
    (base.models, new.models) = (model("m1"), model("m2"));
    assert!(!compare(&base, &new, 0.03).contract.has_digests);
    (base.contents, new.contents) = (Some(contents("d1", "p1")), Some(contents("d2", "p2")));
    new.run.gabfest_version = "0.9.0".to_owned();
    let found = compare(&base, &new, 0.03);
    let what: Vec<(&str, &str)> =
        found.contract.differences.iter().map(|one| (one.what.as_str(), one.name.as_str())).collect();
    assert_eq!(
        what,
        [
            ("scenario", "refund.yaml/refund"),
            ("persona", "calm"),
            ("endpoint", "gpt"),
            ("model", "judge"),
            ("gabfest", "version")
        ]
    );
    assert_eq!(
        (found.cases[0].differs.as_slice(), found.contract.changed_cases),
        (["scenario".to_owned(), "persona".to_owned()].as_slice(), 1)
    );
    assert!(compare(&base, &base, 0.03).contract.differences.is_empty());
}

/// Draws runs of 40 scenarios with 5 repeats and very different rates, of which each falls by `drop`. Returns how often the rate is
/// called worse, and not worse.
fn shares_of_verdicts(drop: f64) -> (f64, f64) {
    const ROUNDS: u32 = 1_000;
    let mut state = 7_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (mut worse, mut not_worse) = (0, 0);
    for _ in 0..ROUNDS {
        let strata: Vec<Stratum> = (0..40)
            .map(|scenario| {
                let rate = 1.0 - draw().powi(4) * 0.6;
                let mut pass = |rate: f64| (0..5).filter(|_| draw() < rate).count() as u64;
                let (base_pass, new_pass) = (pass(rate), pass(rate - drop));
                Stratum { scenario, base_pass, base_trials: 5, new_pass, new_trials: 5, ..Stratum::default() }
            })
            .collect();
        match rate::difference(&strata).unwrap().within(0.03) {
            Within::Worse => worse += 1,
            Within::NotWorse => not_worse += 1,
            Within::CannotTell => {}
        }
    }
    (f64::from(worse) / f64::from(ROUNDS), f64::from(not_worse) / f64::from(ROUNDS))
}

#[test]
fn the_chances_of_error_are_those_that_are_stated() {
    // 0.07 is 0.05 and three standard errors of 1,000 rounds.
    let (false_alarm, _) = shares_of_verdicts(0.0);
    let (_, overlooked) = shares_of_verdicts(0.03);
    let (found, _) = shares_of_verdicts(0.12);
    assert!(false_alarm < 0.07 && overlooked < 0.07, "{false_alarm} {overlooked}");
    assert!(found > 0.8, "a fall by 12 points is found in {found} of the runs");
}

fn mirrored(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Worse => Outcome::Better,
        Outcome::Better => Outcome::Worse,
        Outcome::NewlyFailing => Outcome::Fixed,
        Outcome::Fixed => Outcome::NewlyFailing,
        Outcome::Flakier => Outcome::MoreStable,
        Outcome::MoreStable => Outcome::Flakier,
        Outcome::New => Outcome::Gone,
        Outcome::Gone => Outcome::New,
        Outcome::Same | Outcome::Undecided => outcome,
    }
}

proptest! {
    #[test]
    fn exchanged_runs_mirror_the_result(
        cells in proptest::collection::vec(("[.x?]{0,12}", "[.x?]{0,12}"), 1..12),
        seeds in (1_u64..3, 1_u64..3),
    ) {
        let names: Vec<String> = (0..cells.len()).map(|number| format!("s{}", number % 8)).collect();
        let personas = ["calm", "angry"];
        let side = |of: fn(&(String, String)) -> &String| -> Vec<(&str, Option<&str>, &str)> {
            cells.iter().enumerate().map(|(index, cell)| (names[index].as_str(), Some(personas[index / 8]), of(cell).as_str())).collect()
        };
        let (base, new) = (run("a", seeds.0, &side(|cell| &cell.0)), run("b", seeds.1, &side(|cell| &cell.1)));
        let (there, back) = (compare(&base, &new, 0.03), compare(&new, &base, 0.03));
        for (case, mirror) in there.cases.iter().zip(&back.cases) {
            prop_assert_eq!(mirrored(case.outcome), mirror.outcome);
            prop_assert_eq!((case.base, case.new), (mirror.new, mirror.base));
            prop_assert!((case.chance.unwrap_or(0.0) - mirror.chance.unwrap_or(0.0)).abs() < 1e-9);
        }
        let near = |a: Option<f64>, b: Option<f64>| (a.unwrap_or(0.0) + b.unwrap_or(0.0)).abs() < 1e-9;
        prop_assert!(near(there.rate.difference, back.rate.difference) && near(there.rate.low, back.rate.high));
        prop_assert!(there.worse_cases == 0 || there.verdict == CompareVerdict::Worse);
    }

    #[test]
    fn a_run_beside_itself_has_no_change(cells in proptest::collection::vec("[.x?]{0,12}", 1..12)) {
        let names: Vec<String> = (0..cells.len()).map(|number| format!("s{number}")).collect();
        let cells: Vec<(&str, Option<&str>, &str)> = names.iter().zip(&cells).map(|(name, cell)| (name.as_str(), None, cell.as_str())).collect();
        let played = run("a", 1, &cells);
        let found = compare(&played, &played, 0.03);
        prop_assert!(found.verdict != CompareVerdict::Worse && found.contract.differences.is_empty());
        for case in &found.cases {
            prop_assert!(matches!(case.outcome, Outcome::Same | Outcome::Undecided), "{:?}", case);
            prop_assert!(case.response_ms.is_none_or(|moved| moved.changed.is_none()));
        }
        prop_assert!(found.figures.iter().all(|figure| figure.changed.is_none()));
        prop_assert!(found.rate.difference.unwrap_or(0.0) == 0.0);
    }
}

/// What is in quarantine is compared and shown, and neither fails the comparison nor helps another case to be found.
#[test]
fn a_case_in_quarantine_informs_and_never_blocks() {
    let good = &".".repeat(20)[..];
    let cells = |refund| [("hours", None, good), ("login", None, good), ("refund", None, refund)];
    let (base, worse) = (run("base", 1, &cells(good)), run("new", 2, &cells(&"x".repeat(20))));
    assert_eq!(compare(&base, &worse, 0.03).verdict, CompareVerdict::Worse);
    let mut new = worse;
    new.cells[2].quarantined = true;
    let found = compare(&base, &new, 0.2);
    assert_eq!((found.verdict, found.worse_cases), (CompareVerdict::NotWorse, 0), "{found:?}");
    assert_eq!((found.rate.cells, found.rate.quarantined, found.rate.new_pass), (2, 1, 40));
    let refund = &found.cases[2];
    assert!(refund.quarantined && refund.outcome == Outcome::Worse && refund.new.unwrap().fail == 20, "{refund:?}");
    assert_eq!(refund.chance, refund.adjusted, "a list of its own");
    // An entry that was over before NEW was played does not count.
    let mut earlier = base;
    earlier.cells[2].quarantined = true;
    new.cells[2].quarantined = false;
    assert_eq!(compare(&earlier, &new, 0.03).verdict, CompareVerdict::Worse);
}
