//! Formats numbers for people: shares, times, counts and money.

pub(crate) use record::count::{digits as count, plural};
use record::{
    Summary, Usd,
    summary::{Attempts, CaseSummary, Goodput, Latencies, Rate, RateScope, RunState, Totals, Wall},
    tally::Counts,
};

/// `83.3%`; whole percents without a decimal.
pub fn percent(share: f64) -> String {
    let tenths = (share * 1_000.0).round() / 10.0;
    // A share just below 1 must not read as 100%: one failure in ten thousand is a failure.
    let tenths = if share < 1.0 { tenths.min(99.9) } else { tenths };
    let tenths = if share > 0.0 { tenths.max(0.1) } else { tenths };
    if tenths.fract().abs() < 1e-9 { format!("{tenths:.0}%") } else { format!("{tenths:.1}%") }
}

/// `83.3%`, or a dash if nothing was judged.
pub(crate) fn estimate(rate: &Rate) -> String {
    rate.estimate.map_or_else(|| "–".to_owned(), percent)
}

/// `64–93%`: an interval in whole percents, rounded outwards.
pub(crate) fn interval(rate: &Rate) -> String {
    if rate.n == 0 {
        return "–".to_owned();
    }
    let low = (rate.low * 100.0 + 1e-9).floor().max(0.0);
    let high = (rate.high * 100.0 - 1e-9).ceil().min(100.0);
    format!("{low:.0}–{high:.0}%")
}

/// `, for this scenario`, `, for these 3 scenarios`, `, for scenarios like these 12`: what the interval of a run's success rate is about.
pub(crate) fn scope(totals: &Totals) -> String {
    match totals.success_rate_scope {
        None | Some(RateScope { scenarios: 0, .. }) => String::new(),
        Some(RateScope { scenarios: 1, .. }) => ", for this scenario".to_owned(),
        Some(RateScope { scenarios, clustered: false, .. }) => format!(", for these {} scenarios", count(scenarios)),
        Some(RateScope { scenarios, clustered: true, .. }) => {
            format!(", for scenarios like these {}", count(scenarios))
        }
    }
}

/// `4/5`: passed of the trials in the success rate.
pub(crate) fn passed(counts: &Counts) -> String {
    format!("{}/{}", count(counts.pass), count(counts.conclusive()))
}

/// If errors of the agent make the two rates differ: `judged pass rate 88.9% (16 of 18), without 2 errors of the
/// agent`.
pub(crate) fn judged_pass_rate(totals: &Totals) -> Option<String> {
    let counts = totals.trials.counts();
    (counts.agent_errors > 0).then(|| {
        format!(
            "judged pass rate {} ({} of {}), without {} of the agent",
            estimate(&totals.judged_pass_rate),
            count(counts.pass),
            count(counts.judged()),
            plural(counts.agent_errors, "error", "errors")
        )
    })
}

/// `3`, if it is not 1.
pub(crate) fn weight(case: &CaseSummary) -> Option<String> {
    (case.weight != 1.0).then(|| case.weight.to_string())
}

/// `weighted success rate 66.7% (one weight a scenario)`, if a scenario has its own weight.
pub(crate) fn weighted(summary: &Summary) -> Option<String> {
    let rate = summary.summary.weighted_success_rate?;
    let weighs = summary.cases.iter().any(|case| case.weight != 1.0);
    weighs.then(|| format!("weighted success rate {} (one weight a scenario)", percent(rate)))
}

/// The possible success rates once the missing trials are known:
/// `between 66.7% and 83.3% of 24 planned trials, 4 missing`.
pub(crate) fn bounds(totals: &Totals) -> Option<String> {
    let bounds = &totals.success_bounds;
    let (low, high) = (percent(bounds.low), percent(bounds.high));
    let planned = plural(totals.trials.planned, "planned trial", "planned trials");
    let missing = (bounds.missing > 0).then(|| format!("{} missing", count(bounds.missing)));
    let doubtful = (bounds.doubtful > 0)
        .then(|| format!("{} failed only after our side broke an attempt", count(bounds.doubtful)));
    let open: Vec<String> = missing.into_iter().chain(doubtful).collect();
    (!open.is_empty()).then(|| format!("between {low} and {high} of {planned}, {}", open.join(", ")))
}

/// `812 ms`, `1.84 s`, `2 min 5 s`.
pub fn millis(millis: f64) -> String {
    if millis < 10.0 {
        format!("{millis:.1} ms")
    } else if millis < 999.5 {
        format!("{millis:.0} ms")
    } else if millis < 59_995.0 {
        format!("{:.2} s", millis / 1_000.0)
    } else {
        let seconds = (millis / 1_000.0).round() as u64;
        format!("{} min {} s", count(seconds / 60), seconds % 60)
    }
}

/// A percentile, in milliseconds; `too few` where there are too few samples for it.
pub(crate) fn percentile(found: Option<f64>) -> String {
    found.map_or_else(|| TOO_FEW.to_owned(), millis)
}

/// Shown instead of a percentile that has too few samples.
pub(crate) const TOO_FEW: &str = "too few";

/// `91.2% of turns and 84% of conversations (95% interval 78–89%) met response ≤ 10.00 s and first token ≤ 2.00 s`, and what
/// kept turns from it.
pub(crate) fn goodput(summary: &Summary) -> Option<String> {
    summary.goodput.as_ref().and_then(goodput_text)
}

fn goodput_text(of: &Goodput) -> Option<String> {
    let Goodput { limits, figures, missed, .. } = of;
    let turns = figures.turn_share?;
    let limit = |name: &str, most: Option<f64>| most.map(|most| format!("{name} ≤ {}", millis(most)));
    let limits: Vec<String> = [
        limit("response", limits.response_ms),
        limit("first token", limits.ttft_ms),
        limit("per token", limits.per_output_token_ms),
    ]
    .into_iter()
    .flatten()
    .collect();
    let missed = [
        (missed.response, "too slow"),
        (missed.ttft, "with a late first token"),
        (missed.per_output_token, "with slow tokens"),
        (missed.unanswered, "without an answer"),
    ];
    let missed: Vec<String> = missed
        .into_iter()
        .filter(|(turns, _)| *turns > 0)
        .map(|(turns, why)| format!("{} {why}", count(turns)))
        .collect();
    let why = if missed.is_empty() { String::new() } else { format!("; turns: {}", missed.join(", ")) };
    let (conversations, rate) = (&figures.conversations, estimate(&figures.conversations));
    let met =
        format!("{} of turns and {rate} of conversations (95% interval {})", percent(turns), interval(conversations));
    Some(format!("{met} met {}{why}", limits.join(" and ")))
}

/// [`millis`] of microseconds.
pub(crate) fn micros(micros: u64) -> String {
    millis(micros as f64 / 1_000.0)
}

/// What the percentiles leave out: `2 turns without an answer are not in it`.
pub(crate) fn unanswered(latency: &Latencies) -> Option<String> {
    let turns = latency.unanswered_turns;
    let are = if turns == 1 { "is" } else { "are" };
    (turns > 0).then(|| format!("{} without an answer {are} not in it", plural(turns, "turn", "turns")))
}

/// What the rates of a run leave out of its time: `after the warm-up, without pauses`.
pub(crate) fn left_out(wall: &Wall) -> Option<&'static str> {
    match (wall.warm_up_ms() > 0, wall.stood_still_ms.is_some()) {
        (false, false) => None,
        (true, false) => Some("after the warm-up"),
        (false, true) => Some("without pauses"),
        (true, true) => Some("after the warm-up, without pauses"),
    }
}

/// `12.5 conversations/min, 4.2 turns/s`; conversations only if there were any, and what the rates leave out.
pub(crate) fn pace(wall: &Wall, conversations: u64) -> Option<String> {
    let left_out = left_out(wall).map(|words| format!(" {words}")).unwrap_or_default();
    let turns = format!("{} turns/s{left_out}", decimal(wall.turns_per_second?));
    let conversations = wall.conversations_per_minute.filter(|_| conversations > 0);
    Some(match conversations {
        Some(conversations) => format!("{} conversations/min, {turns}", decimal(conversations)),
        None => turns,
    })
}

/// `1,234`, `56.7`, `0.12`: about three digits.
pub(crate) fn decimal(number: f64) -> String {
    if number >= 100.0 {
        count(number.round() as u64)
    } else if number >= 10.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.2}")
    }
}

/// `2`, `0.5`, `12.25`: without zeros at its end, and with three digits after the point at most.
pub(crate) fn number(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `$0.0123`.
pub(crate) fn usd(dollars: f64) -> String {
    Usd((dollars * 1e9).round() as i64).to_string()
}

/// `2026-03-14 02:00:00 – 02:04:31 UTC`, from RFC 3339 in UTC; anything else stays as it is.
pub(crate) fn span(started: &str, ended: Option<&str>) -> String {
    let parts = |moment: &str| {
        let (date, time) = moment.strip_suffix('Z')?.split_once('T')?;
        Some((date.to_owned(), time.split('.').next().unwrap_or(time).to_owned()))
    };
    match (parts(started), ended.map(parts)) {
        (Some((date, time)), None) => format!("{date} {time} UTC"),
        (Some((date, time)), Some(Some((end_date, end)))) if date == end_date => format!("{date} {time} – {end} UTC"),
        (Some((date, time)), Some(Some((end_date, end)))) => format!("{date} {time} – {end_date} {end} UTC"),
        _ => ended.map_or_else(|| started.to_owned(), |ended| format!("{started} – {ended}")),
    }
}

/// How many attempts were lost with their workers, and what happened to their trials; `None` if none was lost.
pub(crate) fn lost(summary: &Summary) -> Option<String> {
    let attempts = &summary.summary.attempts;
    // A stopped run replays nothing until it is resumed.
    let what = match summary.run.state {
        RunState::Finished => "lost with their workers and played again",
        RunState::Running | RunState::Interrupted | RunState::Cancelled => {
            "unfinished: given up, or lost with their workers"
        }
    };
    let lost = plural(attempts.lost, "attempt", "attempts");
    (attempts.lost > 0).then(|| format!("{lost} of {} {what}", count(attempts.total)))
}

/// How many attempts our side broke, so that they were replayed; `None` if there were none.
pub(crate) fn replayed(attempts: &Attempts) -> Option<String> {
    let broken = attempts.replayed.saturating_sub(attempts.replayed_failed);
    let (were, counts) = match broken {
        1 => ("was", "it does not count, its cost does"),
        _ => ("were", "they do not count, their cost does"),
    };
    (broken > 0).then(|| format!("{} broke and {were} played again: {counts}", plural(broken, "attempt", "attempts")))
}

/// Failures of the agent that were replayed on request:
/// `10 failed attempts played again, which count as failures; 7 trials did not fail when played again`.
pub(crate) fn replayed_failures(totals: &Totals) -> Option<String> {
    let attempts = totals.attempts.replayed_failed;
    let which = if attempts == 1 { "which counts as a failure" } else { "which count as failures" };
    (attempts > 0).then(|| {
        format!(
            "{} played again, {which}; {} did not fail in the last attempt",
            plural(attempts, "failed attempt", "failed attempts"),
            plural(totals.trials.replayed_failures, "trial", "trials"),
        )
    })
}

#[cfg(test)]
mod tests {
    use record::{summary::LeftOut, turn_times::Times};

    use super::*;

    #[test]
    fn numbers_read_well() {
        for (share, text) in
            [(0.0, "0%"), (1.0, "100%"), (0.5, "50%"), (0.8333, "83.3%"), (0.99999, "99.9%"), (0.00001, "0.1%")]
        {
            assert_eq!(percent(share), text);
        }
        for (number, text) in [
            (0.0, "0.0 ms"),
            (9.94, "9.9 ms"),
            (812.4, "812 ms"),
            (999.6, "1.00 s"),
            (1_840.0, "1.84 s"),
            (59_996.0, "1 min 0 s"),
            (125_000.0, "2 min 5 s"),
        ] {
            assert_eq!(millis(number), text);
        }
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
        let pace =
            |conversations, turns| pace(&Wall::of(60_000, LeftOut::default(), conversations, turns, 0), conversations);
        assert_eq!(pace(1_200, 12_000).unwrap(), "1,200 conversations/min, 200 turns/s");
        assert_eq!(pace(0, 30).unwrap(), "0.50 turns/s");
        assert_eq!(super::pace(&Wall::of(0, LeftOut::default(), 1, 1, 0), 1), None);
        for (warm_up_ms, stood_still_ms, words) in [
            (10_000, 0, "0.50 turns/s after the warm-up"),
            (0, 10_000, "0.50 turns/s without pauses"),
            (4_000, 6_000, "0.50 turns/s after the warm-up, without pauses"),
        ] {
            let wall = Wall::of(70_000, LeftOut { warm_up_ms, stood_still_ms }, 0, 30, 0);
            assert_eq!(super::pace(&wall, 0).unwrap(), words);
        }
        assert_eq!(usd(0.01234), "$0.0123");
        assert_eq!(plural(1, "case", "cases"), "1 case");
    }

    #[test]
    fn times_of_one_day_share_their_date() {
        for (started, ended, text) in [
            ("2026-03-14T02:00:00Z", Some("2026-03-14T02:04:31.25Z"), "2026-03-14 02:00:00 – 02:04:31 UTC"),
            ("2026-03-14T23:59:00Z", Some("2026-03-15T00:01:00Z"), "2026-03-14 23:59:00 – 2026-03-15 00:01:00 UTC"),
            ("2026-03-14T02:00:00Z", None, "2026-03-14 02:00:00 UTC"),
            ("yesterday", Some("today"), "yesterday – today"),
        ] {
            assert_eq!(span(started, ended), text);
        }
    }

    #[test]
    fn goodput_is_one_sentence_with_its_limits_and_what_was_missed() {
        use record::{
            goodput::Missed,
            summary::{GoodputFigures, GoodputLimits},
        };
        let rate = Rate { estimate: Some(0.84), low: 0.781, high: 0.889, method: "wilson 95%".to_owned(), n: 200 };
        let goodput = |missed| Goodput {
            limits: GoodputLimits { response_ms: Some(10_000.0), ttft_ms: Some(2_000.0), per_output_token_ms: None },
            figures: GoodputFigures {
                turns: 1_000,
                turns_met: 912,
                turn_share: Some(0.912),
                conversations: rate.clone(),
                conversations_met: 168,
            },
            missed,
            turns_met_per_second: None,
        };
        let found = goodput_text(&goodput(Missed { unanswered: 3, response: 1_200, ..Missed::default() })).unwrap();
        assert_eq!(
            found,
            "91.2% of turns and 84% of conversations (95% interval 78–89%) met response ≤ 10.00 s and first token ≤ 2.00 s; \
             turns: 1,200 too slow, 3 without an answer"
        );
        assert!(goodput_text(&goodput(Missed::default())).unwrap().ends_with("first token ≤ 2.00 s"));
    }

    #[test]
    fn turns_without_an_answer_are_reported() {
        let latency = |unanswered_turns| Latencies { times: Times::default(), unanswered_turns };
        assert_eq!(unanswered(&latency(0)), None);
        assert_eq!(unanswered(&latency(1)).unwrap(), "1 turn without an answer is not in it");
        assert_eq!(unanswered(&latency(1_200)).unwrap(), "1,200 turns without an answer are not in it");
    }

    #[test]
    fn replays_of_failures_are_not_reported_as_our_fault() {
        let attempts = Attempts { total: 30, replayed: 10, replayed_trials: 7, replayed_failed: 10, lost: 0 };
        assert_eq!(replayed(&attempts), None);
        let one_of_ours = Attempts { replayed: 11, ..attempts };
        let said = "1 attempt broke and was played again: it does not count, its cost does";
        assert_eq!(replayed(&one_of_ours).unwrap(), said);
        let two = replayed(&Attempts { replayed: 12, ..attempts }).unwrap();
        assert!(two.starts_with("2 attempts broke and were played again: they"), "{two}");
    }

    #[test]
    fn intervals_round_outwards() {
        let rate = |low, high, n| Rate { estimate: None, low, high, method: "wilson 95%".to_owned(), n };
        assert_eq!(interval(&rate(0.641, 0.926, 20)), "64–93%");
        assert_eq!(interval(&rate(0.0, 1.0, 3)), "0–100%");
        assert_eq!(interval(&rate(0.64, 0.93, 20)), "64–93%");
        assert_eq!(interval(&rate(0.0, 1.0, 0)), "–");
    }
}
