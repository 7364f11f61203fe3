//! Which runs are kept, and which are deleted.

use std::time::Duration;

use record::summary::RunState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const DAY: u64 = 24 * 60 * 60;

/// The settings file: which run folders are deleted when a run ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Settings {
    /// The newest so many runs are kept.
    #[schemars(range(min = 1))]
    pub(crate) keep_last: Option<u32>,
    /// Runs that began longer ago are deleted, except those that `keep_last` keeps: `90d`, `12h`.
    pub(crate) older_than: Option<String>,
}

/// Deletes by number and by age.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct Rules {
    /// Keep the newest N runs; with --older-than they are kept whatever their age
    #[arg(long, value_name = "N", value_parser = crate::args::whole::<u32>(1..=u64::from(u32::MAX)))]
    pub(crate) keep_last: Option<u32>,
    /// Delete runs that began longer ago, such as 90d or 12h
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older_than: Option<Duration>,
}

/// A run that may be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate<T> {
    pub(crate) run: T,
    /// Unix milliseconds.
    pub(crate) started_at: i64,
    pub(crate) state: RunState,
}

impl Rules {
    pub(crate) fn is_empty(&self) -> bool {
        self.keep_last.is_none() && self.older_than.is_none()
    }

    pub(crate) fn of_settings(settings: &Settings) -> Result<Self, String> {
        let older_than = settings.older_than.as_deref().map(age).transpose()?;
        Ok(Self { keep_last: settings.keep_last, older_than })
    }

    /// The runs that are deleted, the oldest first. A running run is never among them, and counts as one that is kept.
    pub(crate) fn choose<T>(&self, mut runs: Vec<Candidate<T>>, now: i64) -> Vec<T> {
        if self.is_empty() {
            return Vec::new();
        }
        runs.sort_by_key(|run| std::cmp::Reverse(run.started_at));
        let kept = self.keep_last.map_or(0, |kept| usize::try_from(kept).unwrap_or(usize::MAX));
        let oldest = self.older_than.map(|age| now.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX)));
        let beyond = runs.into_iter().skip(kept);
        let old = beyond.filter(|run| oldest.is_none_or(|oldest| run.started_at < oldest));
        let mut chosen: Vec<T> = old.filter(|run| run.state != RunState::Running).map(|run| run.run).collect();
        chosen.reverse();
        chosen
    }
}

/// `90d`, `12h`.
pub(crate) fn age(text: &str) -> Result<Duration, String> {
    let seconds = text.strip_suffix('d').map(|days| (days, DAY)).or(text.strip_suffix('h').map(|hours| (hours, 3_600)));
    let read = seconds.and_then(|(number, unit)| number.parse::<u64>().ok()?.checked_mul(unit));
    let seconds = read.filter(|seconds| *seconds > 0);
    seconds.map(Duration::from_secs).ok_or_else(|| format!("expected an age such as 90d or 12h, found {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(run: &'static str, days_ago: i64, state: RunState) -> Candidate<&'static str> {
        Candidate { run, started_at: -days_ago * 86_400_000, state }
    }

    fn rules(keep_last: Option<u32>, older_than: Option<&str>) -> Rules {
        Rules { keep_last, older_than: older_than.map(|text| age(text).unwrap()) }
    }

    #[test]
    fn old_runs_beyond_the_newest_are_chosen_and_no_running_one() {
        use RunState::{Cancelled, Finished, Interrupted, Running};
        let runs = || {
            vec![
                run("a", 100, Running),
                run("b", 95, Finished),
                run("c", 50, Interrupted),
                run("d", 40, Cancelled),
                run("e", 0, Finished),
            ]
        };
        for (rules, chosen) in [
            (rules(None, None), &[][..]),
            (rules(Some(2), None), &["b", "c"]),
            (rules(Some(9), None), &[]),
            (rules(None, Some("45d")), &["b", "c"]),
            (rules(None, Some("1080h")), &["b", "c"]),
            (rules(Some(3), Some("45d")), &["b"]),
            (rules(Some(1), Some("1d")), &["b", "c", "d"]),
        ] {
            assert_eq!(rules.choose(runs(), 0), chosen, "{rules:?}");
        }
        for text in ["", "d", "0d", "90", "-1d", "1.5d", "99999999999999999d"] {
            assert_eq!(age(text).unwrap_err(), format!("expected an age such as 90d or 12h, found {text:?}"));
        }
    }
}
