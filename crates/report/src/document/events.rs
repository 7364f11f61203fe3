//! What happened to a run while it played: what was decided about it, restarts of the coordinator, and conversations that were
//! lost with a worker. The charts over time mark the same.

use record::{Summary, decision::Decided, summary::RunDecision};
use scenario::load::StepVerdict;

use super::model::{Block, Kind, LineKind, Section};
use crate::{
    clean::clean,
    figures::{count, millis, usd},
};

/// The last ones are shown; `report.json` has all.
const SHOWN: usize = 20;

/// Something that happened at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// On the time axis of the charts: from the beginning of a load, whose time stands still in a pause and after a stop.
    pub(crate) after_ms: u64,
    pub(crate) text: String,
    /// A name for a mark in a chart; `None`: another mark says it.
    pub(crate) name: Option<String>,
    /// Conversations that were lost.
    pub(crate) lost: u64,
}

/// In the order in which they happened.
pub(crate) fn events(summary: &Summary) -> Vec<Event> {
    let decided = summary.run.decisions.iter();
    let (mut paused, mut last) = (None, 0);
    let mut all: Vec<Event> = decided
        .map(|decision| {
            let mut event = decided_event(decision, &mut paused);
            let is_for_later = matches!(decision.what, Decided::Rate { .. } | Decided::SearchStep { .. });
            if decision.load_ms.is_some() && !is_for_later {
                // A load that stands still goes on at the same moment, to a rounded millisecond.
                event.after_ms = event.after_ms.max(last);
                last = event.after_ms;
            } else if summary.load.is_some() && !is_for_later {
                // Before the load began, or after the run had ended.
                event.after_ms = last;
            }
            event
        })
        .collect();
    all.extend(summary.losses.iter().map(|lost| Event {
        after_ms: lost.after_ms,
        text: match lost.conversations {
            1 => "a conversation was lost with its worker".to_owned(),
            many => format!("{} conversations were lost with a worker", count(many)),
        },
        name: None,
        lost: lost.conversations,
    }));
    // Stable: decisions of one moment stay in their order.
    all.sort_by_key(|event| event.after_ms);
    all
}

pub(super) fn section(summary: &Summary) -> Section {
    let events = events(summary);
    let left_out = events.len().saturating_sub(SHOWN);
    let line = |event: &Event| format!("after {}: {}", millis(event.after_ms as f64), event.text);
    let mut lines: Vec<String> = events.iter().skip(left_out).map(line).collect();
    if left_out > 0 {
        lines.insert(0, format!("{left_out} earlier ones are in report.json"));
    }
    let block = (!lines.is_empty()).then_some(Block::Lines { kind: LineKind::Item, lines });
    Section::new(Kind::Events, "What happened while it ran", block)
}

/// `paused`: since when, from the start of the run.
fn decided_event(decision: &RunDecision, paused: &mut Option<u64>) -> Event {
    let is = |name: &str| Some(name.to_owned());
    let (text, name) = match &decision.what {
        Decided::Paused => {
            paused.get_or_insert(decision.after_ms);
            ("paused".to_owned(), is("paused"))
        }
        Decided::Interrupted => {
            paused.get_or_insert(decision.after_ms);
            ("somebody stopped the run, and nothing more started".to_owned(), is("stopped"))
        }
        Decided::Resumed => match paused.take() {
            Some(since) => (format!("resumed, {} later", millis(decision.after_ms.saturating_sub(since) as f64)), None),
            None => ("resumed".to_owned(), is("resumed")),
        },
        Decided::Restarted => ("the coordinator was started again, or another one took over".to_owned(), is("restart")),
        Decided::Stopped { reason, .. } => {
            paused.get_or_insert(decision.after_ms);
            (format!("gabfest stopped the run: {}", clean(reason)), is("stopped"))
        }
        Decided::OutOfMoney { reason } => {
            paused.get_or_insert(decision.after_ms);
            (format!("gabfest stopped the run: {}", clean(reason)), is("out of money"))
        }
        Decided::Waits { endpoint, reason } => {
            (format!("trials waited for {}: {}", clean(endpoint), clean(reason)), is("endpoint down"))
        }
        Decided::Budget { max_cost_usd } => (format!("the budget was raised to {}", usd(*max_cost_usd)), is("budget")),
        Decided::Concluded { reason } => (clean(reason), is("decided")),
        Decided::Slots { group, slots, .. } => {
            let slots = if *slots == 1 { "1 slot".to_owned() } else { format!("{} slots", count((*slots).into())) };
            (format!("{slots} for {}", groups(group.as_deref(), "slots")), Some(slots))
        }
        Decided::Rate { group, rate, .. } => {
            let rate = format!("{rate}/s");
            (format!("{rate} for {}", groups(group.as_deref(), "a rate")), Some(rate))
        }
        Decided::SearchStep { rate, .. } => (format!("the search plays {rate}/s"), Some(format!("{rate}/s"))),
        Decided::SearchFound { rate, verdict, reason } => {
            (format!("the search found that {rate}/s {}: {}", said(*verdict), clean(reason)), None)
        }
        Decided::SearchEnded { reason, .. } => (format!("the search ended: {}", clean(reason)), is("found")),
    };
    let after_ms = match &decision.what {
        Decided::Rate { from_micros, .. } | Decided::SearchStep { from_micros, .. } => from_micros / 1_000,
        _ => decision.load_ms.unwrap_or(decision.after_ms),
    };
    let by = decision.by.as_deref().map(|by| format!(" (by {})", clean(by))).unwrap_or_default();
    Event { after_ms, text: text + &by, name, lost: 0 }
}

/// What a rate did in a search.
pub(crate) fn said(verdict: StepVerdict) -> &'static str {
    match verdict {
        StepVerdict::Held => "held",
        StepVerdict::Broke => "broke",
        StepVerdict::Undecided => "is undecided",
    }
}

fn groups(group: Option<&str>, with: &str) -> String {
    group.map_or_else(|| format!("each group with {with}"), |group| format!("the group {}", clean(group)))
}
