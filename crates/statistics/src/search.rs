//! The search for the highest rate at which the requirements of a run hold: the verdict on a step, and what all steps say.

use record::{
    summary::{Gate, LoadSearch, LoadSearchStep, RunVerdict},
    tally::StepTally,
};
use scenario::{
    load::{SearchStep, StepVerdict, Tried, highest_held},
    plan::Gates,
};

use crate::{
    requirement::{self, Level, Requirement},
    valid_load,
};

/// The verdict on a step, and the figures that decide it; `None`: not all of its conversations have ended. `due`: how many were due
/// in it.
#[must_use]
pub fn judge(step: &StepTally, due: u64, gates: &Gates) -> Option<(StepVerdict, String)> {
    let requirements = requirement::all(gates);
    if step.ends.ended() + step.dropped < due {
        return None;
    }
    let mut level = Level::default();
    level.add(step);
    let of = |wanted: StepVerdict| -> Vec<String> {
        let all = requirements.iter().filter(|requirement| requirement.verdict_on(&level) == wanted);
        all.map(|requirement: &Requirement| requirement.evidence(&level, wanted)).collect()
    };
    let broken = of(StepVerdict::Broke);
    if !broken.is_empty() {
        return Some((StepVerdict::Broke, broken.join("; ")));
    }
    // Without its load the agent shows nothing by what it held.
    let invalid = valid_load::dropped(step.dropped, due, "").or_else(|| valid_load::late_starts(&step.late));
    if let Some(why) = invalid {
        return Some((StepVerdict::Undecided, why));
    }
    let undecided = of(StepVerdict::Undecided);
    if !undecided.is_empty() {
        return Some((StepVerdict::Undecided, undecided.join("; ")));
    }
    Some((StepVerdict::Held, of(StepVerdict::Held).join("; ")))
}

/// What a search found. `steps`: all that were played, in order; those with a verdict come first. `ended`: why it is over.
#[must_use]
pub fn of(
    steps: &[SearchStep],
    found: &[(f64, StepVerdict, String)],
    ended: Option<&str>,
    gates: &Gates,
) -> LoadSearch {
    let tried: Vec<Tried> = found.iter().map(|(rate, verdict, _)| Tried { rate: *rate, verdict: *verdict }).collect();
    let one = |(index, step): (usize, &SearchStep)| {
        let found = found.get(index);
        LoadSearchStep {
            rate: step.rate,
            from_seconds: step.from.as_secs_f64(),
            measured_from_seconds: step.measured_from.as_secs_f64(),
            until_seconds: step.until.as_secs_f64(),
            verdict: found.map(|(_, verdict, _)| *verdict),
            reason: found.map_or_else(|| "the run ended before it was judged".to_owned(), |(.., why)| why.clone()),
        }
    };
    let lowest = |wanted: fn(StepVerdict) -> bool| {
        found.iter().filter(|(_, verdict, _)| wanted(*verdict)).min_by(|one, other| one.0.total_cmp(&other.0))
    };
    let (held, broke) = (highest_held(&tried), lowest(|verdict| verdict == StepVerdict::Broke));
    let not_held = lowest(|verdict| verdict != StepVerdict::Held);
    let held_text = held.map(|rate| format!("held at {rate}/s"));
    let limit = not_held.map(|(rate, verdict, why)| match verdict {
        StepVerdict::Undecided => format!("undecided at {rate}/s: {why}"),
        StepVerdict::Held | StepVerdict::Broke => format!("broke at {rate}/s: {why}"),
    });
    // Above a step that is undecided, the lowest one that broke.
    let above = broke.filter(|broke| not_held.is_some_and(|lowest| lowest.0 < broke.0));
    let above = above.map(|(rate, _, why)| format!("broke at {rate}/s: {why}"));
    let parts: Vec<String> = held_text.into_iter().chain(limit).chain(above).collect();
    let result = if parts.is_empty() { "no step was judged".to_owned() } else { parts.join(", ") };
    LoadSearch {
        requirements: requirement::all(gates).iter().map(Requirement::text).collect(),
        held,
        broke: broke.map(|(rate, ..)| *rate),
        result,
        ended: ended.map(str::to_owned),
        steps: steps.iter().enumerate().map(one).collect(),
    }
}

/// The gate of a search: the first rate must hold.
#[must_use]
pub fn gate(search: &LoadSearch) -> Gate {
    let first = search.steps.first().and_then(|step| step.verdict);
    let (verdict, reason) = match (&search.ended, first) {
        (None, _) => (RunVerdict::Inconclusive, format!("the search is not over: {}", search.result)),
        (Some(_), Some(StepVerdict::Held)) => (RunVerdict::Pass, search.result.clone()),
        (Some(_), Some(StepVerdict::Broke)) => (RunVerdict::Fail, search.result.clone()),
        (Some(_), Some(StepVerdict::Undecided) | None) => (RunVerdict::Inconclusive, search.result.clone()),
    };
    Gate { name: "search".to_owned(), verdict, reason }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use record::tally::Counts;
    use scenario::Objective;

    use super::*;

    fn gates(objectives: &[&str]) -> Gates {
        let objectives = objectives.iter().map(|text| Objective::read(text).unwrap()).collect();
        let gates: Gates = serde_json::from_str(r#"{"pass_rate": 0.9, "max_unjudged": 0.0}"#).unwrap();
        Gates { objectives, ..gates }
    }

    /// So many conversations passed of so many, with a turn each that took so many milliseconds.
    fn step(pass: u64, n: u64, millis: u64) -> StepTally {
        let mut tally =
            StepTally { ends: Counts { pass, fail: n - pass, ..Counts::default() }, ..StepTally::default() };
        (0..n).for_each(|_| tally.response.record(millis * 1_000));
        tally
    }

    fn judged(step: &StepTally, due: u64) -> Option<(StepVerdict, String)> {
        judge(step, due, &gates(&["p95(response) < 2s for 60s, abort", "cost < 9"]))
    }

    #[test]
    fn a_step_holds_only_with_enough_evidence() {
        use StepVerdict::{Broke, Held, Undecided};
        let row = |verdict, why: &str| Some((verdict, why.to_owned()));
        assert_eq!(
            judged(&step(200, 200, 500), 200),
            row(Held, "pass_rate 100.0 % of 200 conversations; p95(response) 500 ms of 200 turns")
        );
        assert_eq!(judged(&step(100, 200, 500), 200), row(Broke, "pass_rate 50.0 % of 200 conversations"));
        assert_eq!(judged(&step(200, 200, 2_500), 200), row(Broke, "p95(response) 2.50 s of 200 turns"));
        let few = "pass_rate 100.0 % of 20 conversations, too few to decide pass_rate >= 90%; 20 of 20 turns had a response time \
                   within 2s, too few to decide p95(response) < 2s";
        assert_eq!(judged(&step(20, 20, 500), 20), row(Undecided, few));
        let near = judged(&step(185, 200, 500), 200).unwrap();
        assert_eq!(near.0, Undecided, "92.5 % may be less than 90 %: {}", near.1);
        assert_eq!(judged(&StepTally::default(), 0).unwrap().0, Undecided);
    }

    #[test]
    fn a_step_is_judged_when_all_of_its_conversations_have_ended() {
        assert_eq!(judged(&step(100, 199, 500), 200), None, "the agent still works on one");
    }

    #[test]
    fn a_turn_without_an_answer_is_within_no_time() {
        let silent = StepTally { unanswered: 40, ..step(200, 200, 500) };
        let (verdict, why) = judged(&silent, 200).unwrap();
        assert_eq!(
            (verdict, why.as_str()),
            (StepVerdict::Broke, "p95(response) 500 ms of 240 turns, 40 without an answer")
        );
    }

    #[test]
    fn without_its_load_a_step_is_undecided() {
        let dropped = StepTally { dropped: 10, ..step(200, 200, 500) };
        let (verdict, why) = judged(&dropped, 210).unwrap();
        assert_eq!(verdict, StepVerdict::Undecided);
        assert!(why.starts_with("10 of 210 starts were dropped (4.8 %)"), "{why}");
        let mut late = step(200, 200, 500);
        (0..200).for_each(|_| late.late.record(400_000));
        assert!(judged(&late, 200).unwrap().1.starts_with("starts were late by 400 ms (p50)"));
    }

    fn found(all: &[(f64, StepVerdict)], ended: Option<&str>) -> LoadSearch {
        let steps: Vec<SearchStep> = all
            .iter()
            .map(|(rate, _)| SearchStep {
                rate: *rate,
                from: Duration::ZERO,
                measured_from: Duration::ZERO,
                until: Duration::ZERO,
            })
            .collect();
        let found: Vec<_> = all.iter().map(|(rate, verdict)| (*rate, *verdict, format!("why {rate}"))).collect();
        of(&steps, &found, ended, &gates(&[]))
    }

    #[test]
    fn it_says_where_it_held_and_where_not() {
        use StepVerdict::{Broke, Held, Undecided};
        let search = found(&[(20.0, Held), (40.0, Held), (80.0, Broke), (60.0, Broke), (45.5, Broke)], Some("e"));
        assert_eq!((search.held, search.broke), (Some(40.0), Some(45.5)));
        assert_eq!(search.result, "held at 40/s, broke at 45.5/s: why 45.5");
        assert_eq!((gate(&search).verdict, gate(&search).reason), (RunVerdict::Pass, search.result));
        let search = found(&[(20.0, Held), (40.0, Broke), (30.0, Undecided)], Some("e"));
        assert_eq!(search.result, "held at 20/s, undecided at 30/s: why 30, broke at 40/s: why 40");
        let verdict = |all: &[(f64, StepVerdict)], ended| gate(&found(all, ended)).verdict;
        assert_eq!(verdict(&[(20.0, Broke)], Some("e")), RunVerdict::Fail);
        assert_eq!(verdict(&[(20.0, Undecided)], Some("e")), RunVerdict::Inconclusive);
        assert_eq!(verdict(&[(20.0, Held)], None), RunVerdict::Inconclusive);
        assert_eq!(found(&[], None).result, "no step was judged");
    }
}
