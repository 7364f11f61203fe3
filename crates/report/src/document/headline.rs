//! The top of every page: the verdict, the state of the run, and one sentence for each key figure.

use record::{
    Summary, Verdict,
    summary::{Run, RunState},
};

use super::{quarantine, sentinels};
use crate::{
    Found,
    clean::{clean, fit},
    figures::{self, count, millis, percent, plural},
    marks::Mark,
};

const METHOD_COLUMNS: usize = 16;
const JUDGE: &str = "judge";
const QUARANTINE: &str = "quarantine";
const LEFT_OUT: &str = "left out";

#[derive(Debug)]
pub(crate) struct Headline {
    pub(crate) mark: Mark,
    pub(crate) name: String,
    /// Why the figures may not be final.
    pub(crate) note: Option<String>,
    pub(crate) facts: Vec<Fact>,
}

/// `passed`: `4 of 7 trials: success rate 57.1% (wilson 95% interval 25–85%, for these 2 scenarios)`.
#[derive(Debug)]
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) words: Vec<Words>,
}

/// Parts of a sentence, a comma between them. A part about one verdict has its colour.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) text: String,
    pub(crate) verdict: Option<Verdict>,
}

impl Headline {
    pub(super) fn of(summary: &Summary, found: &Found) -> Self {
        let judge = found.sentinels.as_deref().and_then(sentinels::alert);
        let alerts = [(JUDGE, judge), (QUARANTINE, quarantine::alert(summary))];
        let alerts = alerts.into_iter().filter_map(|(name, text)| Some(fact(name, text?)));
        Self {
            mark: Mark::of_run(summary.verdict),
            name: summary.run.name.clone(),
            note: note(&summary.run),
            facts: facts(summary).into_iter().chain(alerts).collect(),
        }
    }

    /// Cases in quarantine, which no gate depends on.
    pub(crate) fn left_out(&self) -> Option<String> {
        self.facts.iter().find(|fact| fact.name == LEFT_OUT).map(Fact::text)
    }

    /// What needs a look before the verdict is believed; a section below says more.
    pub(crate) fn alerts(&self) -> impl Iterator<Item = String> {
        let alerts = self.facts.iter().filter(|fact| [JUDGE, QUARANTINE].contains(&fact.name));
        alerts.map(|fact| format!("{}: {}", fact.name, fact.text()))
    }
}

impl Fact {
    pub(crate) fn text(&self) -> String {
        self.words.iter().map(|words| words.text.as_str()).collect::<Vec<_>>().join(", ")
    }
}

fn note(run: &Run) -> Option<String> {
    let note = match (run.state, &run.stopped) {
        (RunState::Finished, _) => return None,
        (RunState::Running, None) => "still running: every figure is provisional",
        (RunState::Running, Some(reason)) => return Some(format!("stopping: {}", clean(reason))),
        (RunState::Interrupted, None) => "interrupted: the figures cover the played trials",
        (RunState::Interrupted, Some(reason)) => {
            return Some(format!("stopped, so the figures cover the played trials: {}", clean(reason)));
        }
        (RunState::Cancelled, _) => "cancelled: the figures cover the played trials",
    };
    Some(note.to_owned())
}

fn fact(name: &'static str, text: String) -> Fact {
    Fact { name, words: vec![Words { text, verdict: None }] }
}

fn facts(summary: &Summary) -> Vec<Fact> {
    let totals = &summary.summary;
    let trials = totals.trials;
    let rate = &totals.success_rate;
    let mut facts = vec![fact(
        "passed",
        format!(
            "{} of {}: success rate {} ({} interval {}{})",
            count(trials.pass),
            plural(trials.counts().conclusive(), "trial", "trials"),
            figures::estimate(rate),
            fit(&clean(&rate.method), METHOD_COLUMNS),
            figures::interval(rate),
            figures::scope(totals),
        ),
    )];
    let optional = [
        (LEFT_OUT, left_out(summary)),
        ("bounds", figures::bounds(totals).map(|bounds| format!("success rate {bounds}"))),
        ("judged", figures::judged_pass_rate(totals)),
        ("replayed", figures::replayed_failures(totals)),
        ("weighted", figures::weighted(summary)),
        ("goodput", figures::goodput(summary)),
    ];
    facts.extend(optional.into_iter().filter_map(|(name, text)| Some(fact(name, text?))));
    // Of a load, those count whose time has come: it may have been stopped long before its end.
    let of = if summary.load.is_some() { "trials that ended" } else { "planned trials" };
    facts.push(fact(
        "completed",
        format!(
            "{} of {} {of}, {}; {}, {}",
            count(trials.pass + trials.fail),
            count(trials.planned),
            percent(totals.completed_rate),
            plural(totals.conversations, "conversation", "conversations"),
            plural(totals.turns, "turn", "turns"),
        ),
    ));
    let rest = rest(summary);
    if !rest.is_empty() {
        facts.push(Fact { name: "the rest", words: rest });
    }
    if totals.flaky_cases > 0 {
        let cases = plural(summary.cases.len() as u64, "case", "cases");
        facts.push(fact("flaky", format!("{} of {cases}", count(totals.flaky_cases))));
    }
    if let Some(wall) = summary.wall {
        let pace = figures::pace(&wall, totals.conversations).map_or_else(String::new, |pace| format!("; {pace}"));
        facts.push(fact("wall time", format!("{}{pace}", millis(wall.duration_ms as f64))));
    }
    facts
}

/// The success rate has the trials of cases in quarantine, and the gates have not.
fn left_out(summary: &Summary) -> Option<String> {
    let cases = summary.cases.iter().filter(|case| case.quarantine.is_some()).count() as u64;
    match cases {
        0 => None,
        1 => Some("1 case in quarantine: no gate depends on it".to_owned()),
        many => Some(format!("{} cases in quarantine: no gate depends on them", count(many))),
    }
}

/// How the trials ended that did not pass.
fn rest(summary: &Summary) -> Vec<Words> {
    let trials = summary.summary.trials;
    [
        (Verdict::Fail, trials.fail, "failed"),
        (Verdict::Error, trials.error, if trials.error == 1 { "error" } else { "errors" }),
        (Verdict::Inconclusive, trials.inconclusive, "inconclusive"),
        (Verdict::Skipped, trials.skipped, "skipped"),
        (Verdict::Cancelled, trials.cancelled, "cancelled"),
        (Verdict::Cancelled, trials.not_started, "not started"),
    ]
    .into_iter()
    .filter(|(_, number, _)| *number > 0)
    .map(|(verdict, number, word)| Words { text: format!("{} {word}", count(number)), verdict: Some(verdict) })
    .collect()
}
