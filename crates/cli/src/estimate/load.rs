//! What `--dry-run` prints of a load: its groups, their curves, how many starts there are and how many slots they need.

use std::{fmt::Write as _, time::Duration};

use record::count::plural;
use scenario::{
    Estimate, Load, Plan,
    estimate::Sample,
    load::{Lane, Pace, Schedule, Search, Spacing},
};

use super::{curve, duration};
use crate::{load::units::Span, settings::Settings};

/// Between two steps of a search, if no conversation takes longer.
const BETWEEN_STEPS: Duration = Duration::from_secs(5);

/// The size of a load, and its own part of the text.
pub(super) struct Found {
    pub(super) size: Estimate,
    /// Groups and curves.
    pub(super) curves: String,
    /// The lines below the table of calls.
    pub(super) figures: String,
}

pub(super) fn text(plan: &Plan, load: &Load, schedule: &Schedule, settings: &Settings, slots: u32) -> Found {
    // Which rates a search plays is known when it has played them.
    let (planned, most) = (schedule, schedule.if_all_steps_hold(BETWEEN_STEPS));
    let schedule = if load.search.is_some() { &most } else { planned };
    let mut size = Estimate { cases: plan.case_count(), ..Estimate::default() };
    let (mut curves, mut lines, mut source) = (String::new(), Vec::new(), String::new());
    let (mut low_slots, mut high_slots, mut peak_rate) = (0.0, 0.0, 0.0);
    for (index, (group, lane)) in load.groups.iter().zip(schedule.lanes()).enumerate() {
        let sample = Sample::of(plan, index, formats::ALL);
        let conversation = duration::of_conversation(&sample.times(1000), plan, settings);
        let pause = sample.mean_pause().as_secs_f64();
        let (low, high) = (conversation.seconds.0 + pause, conversation.seconds.1 + pause);
        source = conversation.source;
        let many = match (&group.pace, lane.count()) {
            (_, Some(count)) => Some((count, count)),
            // Slots that are never idle: their time, divided by that of a conversation.
            (Pace::Slots { slots, .. }, None) if low > 0.0 => {
                Some(((slots.total() / high).ceil() as u64, (slots.total() / low).ceil() as u64))
            }
            _ => None,
        };
        let (least, most) = many.unwrap_or((0, 0));
        let mut of_lane = sample.times(most);
        of_lane.typical = sample.times(least).typical;
        size.add(&of_lane);
        size.trials = size.trials.saturating_add(most);
        let starts = match (many, lane.count()) {
            (Some(_), Some(count)) if load.search.is_some() => {
                format!("{} if every step holds", plural(count, "start", "starts"))
            }
            (Some(_), Some(count)) => plural(count, "start", "starts"),
            (Some((least, most)), None) => format!("an estimated {least} to {most} starts"),
            _ => "as many as fit, which are not in the table: a conversation takes no time".to_owned(),
        };
        let shape = load.search.as_ref().map_or_else(|| shape(&group.pace), searched);
        lines.push((group.name.as_str(), shape, starts));
        if lane.is_open() {
            let peak = load.search.map_or_else(|| peak(&group.pace, lane, high), |search| search.to);
            peak_rate += peak;
            // There are never more conversations at once than there are in all.
            let all = lane.count().map_or(f64::INFINITY, |count| count as f64);
            low_slots += (peak * low).min(all);
            high_slots += (peak * high).min(all);
        }
        let title = if load.search.is_some() { "starts a second if every step holds" } else { "starts a second" };
        curves.push_str(&drawn(&group.name, title, &group.pace, lane));
    }
    let widest = |of: fn(&(&str, String, String)) -> usize| lines.iter().map(of).max().unwrap_or(0);
    let (names, shapes) = (widest(|line| line.0.chars().count()), widest(|line| line.1.chars().count()));
    let mut table = String::new();
    for (name, shape, starts) in &lines {
        let line = format!("{name:names$}  {shape:shapes$}  {starts}");
        let _ = writeln!(table, "{}", report::clean(&line));
    }
    let mut figures = format!("\ntime   {}", lasts(load, schedule));
    if load.search.is_some() {
        let _ = write!(figures, " if every step holds, {} at most", lasts(load, planned));
    }
    if let Some(warm_up) = Some(load.warm_up_micros).filter(|micros| *micros > 0) {
        let _ = write!(figures, "; the first {} are not in the figures", Span { micros: warm_up });
    }
    if peak_rate > 0.0 {
        let _ = write!(figures, "\nslots  {}", needed(peak_rate, low_slots, high_slots, slots));
    }
    figures.push_str(&source);
    figures.push('\n');
    Found { size, curves: format!("{table}\n{curves}"), figures }
}

/// A search in a few words.
fn searched(search: &Search) -> String {
    let [from, to, factor] = [search.from, search.to, search.factor].map(curve::number);
    format!("search from {from}/s to {to}/s, × {factor}, to {} %", curve::number(search.precision * 1e2))
}

/// A pace in a few words.
fn shape(pace: &Pace) -> String {
    match pace {
        Pace::Slots { slots, trials: Some(_), .. } => {
            format!("{} slots", slots.stages.last().map_or(0.0, |last| last.to))
        }
        Pace::Slots { slots, .. } => {
            format!("{} slots", heights(&slots.stages.iter().map(|stage| (stage.from, stage.to)).collect::<Vec<_>>()))
        }
        Pace::Arrivals { spacing, rate } => {
            let spacing = match spacing {
                Spacing::Even => "even".to_owned(),
                Spacing::Poisson => "poisson".to_owned(),
                Spacing::Gamma { burstiness } => format!("gamma {burstiness}"),
            };
            let stages: Vec<(f64, f64)> = rate.stages.iter().map(|stage| (stage.from, stage.to)).collect();
            format!("{}/s, {spacing}", heights(&stages))
        }
        Pace::Trace { .. } => "trace".to_owned(),
    }
}

/// `5`, or `0 to 50`.
fn heights(stages: &[(f64, f64)]) -> String {
    let all = || stages.iter().flat_map(|(from, to)| [*from, *to]);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    if low == high { curve::number(high) } else { format!("{} to {}", curve::number(low), curve::number(high)) }
}

/// The largest rate in starts a second; of a trace, over a hundredth of its length, or over a conversation of so many seconds.
fn peak(pace: &Pace, lane: &Lane, conversation: f64) -> f64 {
    match pace {
        Pace::Arrivals { rate, .. } => rate.stages.iter().fold(0.0, |most, stage| most.max(stage.from).max(stage.to)),
        _ => {
            let conversations = lane.ends().unwrap_or_default().as_secs_f64() / conversation.max(1e-6);
            rates(lane, (conversations as u32).clamp(1, 100)).into_iter().fold(0.0, f64::max)
        }
    }
}

fn needed(rate: f64, low: f64, high: f64, slots: u32) -> String {
    if high <= 0.0 {
        return format!("few: a conversation takes no time; there are {slots}");
    }
    let (low, high) = (low.ceil().max(1.0), high.ceil().max(1.0));
    let range = if low == high { format!("{low}") } else { format!("{low} to {high}") };
    let mut text = format!("{range} at the peak of {} starts a second; there are {slots}", curve::number(rate));
    if high > f64::from(slots) {
        text.push_str(", so starts may wait and be dropped: raise `slots`");
    }
    text
}

fn lasts(load: &Load, schedule: &Schedule) -> String {
    match schedule.ends() {
        Some(ends) => {
            // Slots with a number of conversations end when they have played them.
            let may_end_earlier = schedule.lanes().iter().any(|lane| !lane.is_open() && lane.count().is_some());
            let most = if may_end_earlier { "at most " } else { "" };
            format!("{most}{}", Span { micros: rounded(ends) })
        }
        None => {
            let groups = load.groups.iter().zip(schedule.lanes()).filter(|(_, lane)| lane.ends().is_none());
            let names: Vec<&str> = groups.map(|(group, _)| group.name.as_str()).collect();
            format!("until the conversations of {} have ended", names.join(" and "))
        }
    }
}

/// To the millisecond: the end of a trace is a microsecond after its last start.
fn rounded(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX) / 1000 * 1000
}

/// Starts a second in each of this many equal parts.
fn rates(lane: &Lane, parts: u32) -> Vec<f64> {
    let whole = lane.ends().unwrap_or_default();
    let before: Vec<f64> = (0..=parts).map(|part| lane.drawn_before(whole * part / parts)).collect();
    let seconds = (whole / parts).as_secs_f64().max(1e-6);
    before.windows(2).map(|pair| (pair[1] - pair[0]) / seconds).collect()
}

fn is_even(pace: &Pace) -> bool {
    matches!(pace, Pace::Arrivals { spacing: Spacing::Even, .. })
}

fn drawn(name: &str, title: &str, pace: &Pace, lane: &Lane) -> String {
    let Some(ends) = lane.ends() else { return String::new() };
    let columns = curve::WIDTH;
    if lane.is_open() {
        // A few starts in each part: with fewer, chance would draw a comb.
        let by_chance = u32::try_from(lane.count().unwrap_or(0) / 4).unwrap_or(columns).clamp(8, columns);
        let parts = if is_even(pace) { columns } else { by_chance };
        return curve::draw(&format!("{name}: {title}"), &rates(lane, parts), ends);
    }
    let at = |column: u32| f64::from(lane.slots_at(ends * (2 * column + 1) / (2 * columns)).unwrap_or(0));
    curve::draw(&format!("{name}: slots"), &(0..columns).map(at).collect::<Vec<_>>(), ends)
}
