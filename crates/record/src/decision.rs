//! What is decided about a run while it plays. The plan never changes; these records are appended to the run.

use std::time::Duration;

use scenario::{
    Plan,
    load::{Lane, RateChange, Schedule, StepVerdict},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A decision, and when it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Unix milliseconds.
    pub at: i64,
    /// How old the load of the run was; `None`: it has none, or it had not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_micros: Option<u64>,
    /// Who made it, by the name in their certificate; `None`: gabfest itself, or somebody without a certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(flatten)]
    pub what: Decided,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decided", rename_all = "snake_case")]
pub enum Decided {
    /// Somebody paused the run: nothing more starts.
    Paused,
    /// Somebody stopped a run with a load: what runs ends, nothing more starts, and `gabfest resume` can continue it.
    Interrupted,
    /// Somebody had it continue, after a pause or after its end.
    Resumed,
    /// The coordinator was started again while the run played.
    Restarted,
    /// The coordinator itself takes no more trials.
    Stopped {
        reason: String,
        /// The objective that stopped it, as it is written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        objective: Option<String>,
    },
    /// The budget of the run is used up: it takes no more trials.
    OutOfMoney { reason: String },
    /// Most calls to an endpoint failed, so trials wait for it.
    Waits { endpoint: String, reason: String },
    /// Somebody raised the budget of the run.
    Budget { max_cost_usd: f64 },
    /// The run was decided early, or had no repeats left to decide it.
    Concluded { reason: String },
    /// Somebody set how many conversations run at once in closed paces.
    Slots {
        /// A group of the load; `None`: all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        slots: u32,
        /// From then on, since the load began.
        #[serde(default)]
        from_micros: u64,
    },
    /// Somebody set the rate of paces that have one.
    Rate {
        /// A group of the load; `None`: all with a rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        /// Starts a second.
        rate: f64,
        /// From then on, since the load began. Starts of the next seconds were on their way to workers already.
        from_micros: u64,
    },
    /// The search for the highest rate began another step.
    SearchStep {
        /// Starts a second.
        rate: f64,
        /// From then on, since the load began.
        from_micros: u64,
    },
    /// What the search found of its latest step.
    SearchFound {
        /// The rate of the step.
        rate: f64,
        verdict: StepVerdict,
        /// The figures that decided.
        reason: String,
    },
    /// The search is over, and nothing starts any more.
    SearchEnded {
        reason: String,
        /// From then on, since the load began.
        from_micros: u64,
    },
}

/// When the trials of a plan's load start, with what was decided about its rates and slots; `None`: it has no load.
#[must_use]
pub fn schedule(plan: &Plan, decisions: &[Decision]) -> Option<Schedule> {
    let mut schedule = plan.schedule()?;
    decisions.iter().for_each(|decision| apply(&decision.what, &mut schedule));
    Some(schedule)
}

/// Changes the rates or slots of the lanes that a decision is about, or the steps of a search.
pub fn apply(what: &Decided, schedule: &mut Schedule) {
    let lanes = |group: &Option<String>, schedule: &Schedule| -> Vec<usize> {
        let is_meant = |lane: &Lane| group.as_deref().is_none_or(|group| group == lane.name());
        let lanes = schedule.lanes().iter().enumerate().filter(|(_, lane)| is_meant(lane));
        lanes.map(|(index, _)| index).collect()
    };
    match what {
        Decided::Slots { group, slots, from_micros } => {
            let from = Duration::from_micros(*from_micros);
            lanes(group, schedule).into_iter().for_each(|lane| schedule.set_slots(lane, *slots, from));
        }
        Decided::Rate { group, rate, from_micros } => {
            let change = RateChange { from: Duration::from_micros(*from_micros), rate: *rate };
            lanes(group, schedule).into_iter().for_each(|lane| schedule.set_rate(lane, change));
        }
        Decided::SearchStep { rate, from_micros } => {
            schedule.add_search_step(*rate, Duration::from_micros(*from_micros));
        }
        Decided::SearchEnded { from_micros, .. } => schedule.end_search(Duration::from_micros(*from_micros)),
        Decided::Paused
        | Decided::Interrupted
        | Decided::Resumed
        | Decided::Restarted
        | Decided::Stopped { .. }
        | Decided::OutOfMoney { .. }
        | Decided::Waits { .. }
        | Decided::Budget { .. }
        | Decided::Concluded { .. }
        | Decided::SearchFound { .. } => {}
    }
}

/// What a search found of its steps so far, in order, and why it ended, if it did.
#[must_use]
pub fn searched(decisions: &[Decision]) -> (Vec<(f64, StepVerdict, &str)>, Option<&str>) {
    let (mut found, mut ended) = (Vec::new(), None);
    for decision in decisions {
        match &decision.what {
            Decided::SearchFound { rate, verdict, reason } => found.push((*rate, *verdict, reason.as_str())),
            Decided::SearchEnded { reason, .. } => ended = Some(reason.as_str()),
            _ => {}
        }
    }
    (found, ended)
}

/// Since when the run is paused, in Unix milliseconds.
#[must_use]
pub fn paused_at(decisions: &[Decision]) -> Option<i64> {
    decisions.iter().fold(None, |paused, decision| match decision.what {
        Decided::Paused => paused.or(Some(decision.at)),
        Decided::Resumed => None,
        _ => paused,
    })
}

/// Since when nothing more of the run starts, in Unix milliseconds: it is paused, or it was stopped. The time of its load stands
/// still since then. A coordinator that is started again does not know of an interruption, and plays on.
#[must_use]
pub fn stands_still_since(decisions: &[Decision]) -> Option<i64> {
    let (mut stopped, mut interrupted) = (None, None);
    for Decision { at, what, .. } in decisions {
        match what {
            Decided::Paused | Decided::Stopped { .. } | Decided::OutOfMoney { .. } => _ = stopped.get_or_insert(*at),
            Decided::Interrupted => _ = interrupted.get_or_insert(*at),
            Decided::Restarted => {
                stopped = stopped.map(|since: i64| interrupted.map_or(since, |earlier| since.min(earlier)));
                interrupted = None;
            }
            Decided::Resumed => (stopped, interrupted) = (None, None),
            _ => {}
        }
    }
    [stopped, interrupted].into_iter().flatten().min()
}

/// Why the coordinator itself stopped the run, unless somebody had it continue since.
#[must_use]
pub fn stopped(decisions: &[Decision]) -> Option<&str> {
    decisions.iter().fold(None, |stopped, decision| match &decision.what {
        Decided::Stopped { reason, .. } | Decided::OutOfMoney { reason } => stopped.or(Some(reason.as_str())),
        Decided::Resumed => None,
        _ => stopped,
    })
}

/// Whether the budget of the run was used up, unless somebody raised it or had the run continue since.
#[must_use]
pub fn is_out_of_money(decisions: &[Decision]) -> bool {
    decisions.iter().fold(false, |out, decision| match decision.what {
        Decided::OutOfMoney { .. } => true,
        Decided::Budget { .. } | Decided::Resumed => false,
        _ => out,
    })
}

/// How old a load was at a moment in Unix milliseconds: its time stands still in a pause, while a stopped run ends, and
/// after the end of a run that is resumed. `began_at`: when it began, moved by all of these.
#[must_use]
pub fn load_age_ms(decisions: &[Decision], began_at: i64, at: i64) -> u64 {
    let known = || decisions.iter().filter_map(|decision| Some((decision, decision.load_micros? / 1_000)));
    let between = |earlier: i64, later: i64| u64::try_from(later.saturating_sub(earlier)).unwrap_or(0);
    let before = decisions.iter().take_while(|decision| decision.at <= at).count();
    match known().take_while(|(decision, _)| decision.at <= at).last() {
        Some((_, age)) if stands_still_since(&decisions[..before]).is_some() => age,
        Some((decision, age)) => age + between(decision.at, at),
        None => known()
            .next()
            .map_or_else(|| between(began_at, at), |(decision, age)| age.saturating_sub(between(at, decision.at))),
    }
}

/// For how long a load stood still before it was continued, in milliseconds: from each pause or stop on.
#[must_use]
pub fn load_stood_still_ms(decisions: &[Decision]) -> u64 {
    let mut since = None;
    let mut stood_still = 0;
    for (index, decision) in decisions.iter().enumerate() {
        let stands_still = stands_still_since(&decisions[..=index]);
        if let (Some(since), None) = (since, stands_still) {
            stood_still += u64::try_from(decision.at.saturating_sub(since)).unwrap_or(0);
        }
        since = stands_still;
    }
    stood_still
}

/// The objectives that ever stopped the run, with the first reason of each.
#[must_use]
pub fn stopping_objectives(decisions: &[Decision]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for decision in decisions {
        if let Decided::Stopped { reason, objective: Some(objective) } = &decision.what
            && !found.iter().any(|(known, _)| known == objective)
        {
            found.push((objective.clone(), reason.clone()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(at: i64, what: Decided) -> Decision {
        Decision { at, load_micros: None, by: None, what }
    }

    #[test]
    fn nothing_starts_from_the_first_stop_until_somebody_resumes_the_run() {
        let reason = || String::new();
        for what in [
            Decided::Paused,
            Decided::Stopped { reason: reason(), objective: None },
            Decided::OutOfMoney { reason: reason() },
        ] {
            let decisions =
                [of(3, what), of(5, Decided::Restarted), of(7, Decided::Interrupted), of(9, Decided::Resumed)];
            let since = [0, 1, 2, 3, 4].map(|many| stands_still_since(&decisions[..many]));
            assert_eq!(since, [None, Some(3), Some(3), Some(3), None]);
        }
        let decisions = [of(3, Decided::Interrupted), of(5, Decided::Paused), of(7, Decided::Restarted)];
        let since = [1, 2, 3].map(|many| stands_still_since(&decisions[..many]));
        assert_eq!(since, [Some(3), Some(3), Some(3)], "a restart does not end a pause");
        let decisions = [of(3, Decided::Interrupted), of(5, Decided::Restarted), of(7, Decided::Paused)];
        let since = [1, 2, 3].map(|many| stands_still_since(&decisions[..many]));
        assert_eq!(since, [Some(3), None, Some(7)], "a restart ends an interruption");
    }

    #[test]
    fn the_time_of_a_load_stands_still_in_a_pause_and_after_a_stop() {
        let decided = |at, load_ms: u64, what| Decision { at, load_micros: Some(load_ms * 1_000), by: None, what };
        // It began at 1,000, was paused from 3,000 to 8,000, and interrupted from 8,800 to 20,000.
        let decisions = [
            decided(3_000, 2_000, Decided::Paused),
            decided(4_000, 2_000, Decided::Restarted),
            decided(8_000, 2_000, Decided::Resumed),
            decided(8_800, 2_800, Decided::Interrupted),
            decided(20_000, 2_800, Decided::Resumed),
        ];
        let began = 20_000 - 2_800;
        let ages =
            [(500, 0), (1_500, 500), (3_000, 2_000), (7_999, 2_000), (8_500, 2_500), (9_500, 2_800), (20_100, 2_900)];
        for (at, age) in ages {
            assert_eq!(load_age_ms(&decisions, began, at), age, "at {at}");
        }
        assert_eq!(load_age_ms(&[of(5, Decided::Paused)], 1_000, 1_700), 700);
        let stood = [0, 1, 2, 3, 4, 5].map(|many| load_stood_still_ms(&decisions[..many]));
        assert_eq!(stood, [0, 0, 0, 5_000, 5_000, 16_200], "what was not continued is the end of the run");
    }

    fn stop(reason: &str, objective: Option<&str>) -> Decided {
        Decided::Stopped { reason: reason.to_owned(), objective: objective.map(str::to_owned) }
    }

    #[test]
    fn the_last_word_counts() {
        use Decided::{Paused, Resumed};
        type Row = (Vec<Decided>, Option<i64>, Option<&'static str>);
        let rows: [Row; 6] = [
            (vec![], None, None),
            (vec![Paused, Paused], Some(0), None),
            (vec![Paused, Resumed, Paused], Some(2), None),
            (vec![stop("a", None), stop("b", None)], None, Some("a")),
            (vec![Paused, stop("a", Some("o")), Resumed], None, None),
            (vec![stop("a", None), Resumed, stop("b", None), Paused], Some(3), Some("b")),
        ];
        for (what, paused, why) in rows {
            let decisions: Vec<Decision> = what.into_iter().zip(0..).map(|(what, at)| of(at, what)).collect();
            assert_eq!((paused_at(&decisions), stopped(&decisions)), (paused, why), "{decisions:?}");
        }
        let twice = ["first", "second"].map(|reason| of(0, stop(reason, Some("o"))));
        assert_eq!(stopping_objectives(&twice), [("o".to_owned(), "first".to_owned())]);
    }

    #[test]
    fn the_stored_form_stays_readable() {
        let rows = [
            (Decided::Paused, r#"{"at":7,"decided":"paused"}"#),
            (stop("why", None), r#"{"at":7,"decided":"stopped","reason":"why"}"#),
            (
                Decided::Waits { endpoint: "e".to_owned(), reason: "why".to_owned() },
                r#"{"at":7,"decided":"waits","endpoint":"e","reason":"why"}"#,
            ),
            (Decided::Concluded { reason: "why".to_owned() }, r#"{"at":7,"decided":"concluded","reason":"why"}"#),
            (
                Decided::Slots { group: Some("g".to_owned()), slots: 3, from_micros: 5 },
                r#"{"at":7,"decided":"slots","group":"g","slots":3,"from_micros":5}"#,
            ),
            (
                Decided::Rate { group: None, rate: 2.5, from_micros: 5 },
                r#"{"at":7,"decided":"rate","rate":2.5,"from_micros":5}"#,
            ),
            (
                Decided::SearchStep { rate: 2.5, from_micros: 5 },
                r#"{"at":7,"decided":"search_step","rate":2.5,"from_micros":5}"#,
            ),
            (
                Decided::SearchFound { rate: 2.5, verdict: StepVerdict::Held, reason: "why".to_owned() },
                r#"{"at":7,"decided":"search_found","rate":2.5,"verdict":"held","reason":"why"}"#,
            ),
            (
                Decided::SearchEnded { reason: "why".to_owned(), from_micros: 5 },
                r#"{"at":7,"decided":"search_ended","reason":"why","from_micros":5}"#,
            ),
        ];
        for (what, json) in rows {
            let decision = of(7, what);
            assert_eq!(serde_json::to_string(&decision).unwrap(), json);
            assert_eq!(serde_json::from_str::<Decision>(json).unwrap(), decision);
        }
        let by = Some("ada".to_owned());
        let paused = r#"{"at":7,"by":"ada","decided":"paused"}"#;
        assert_eq!(serde_json::to_string(&Decision { by, ..of(7, Decided::Paused) }).unwrap(), paused);
        let earlier: Decision = serde_json::from_str(r#"{"at":7,"decided":"slots","slots":3}"#).unwrap();
        assert_eq!(earlier.what, Decided::Slots { group: None, slots: 3, from_micros: 0 });
    }
}
