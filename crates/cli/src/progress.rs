//! Live progress: a bar on a terminal, occasional lines elsewhere, nothing with `--quiet`.

use std::{io::IsTerminal as _, time::Duration};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use proto::v1;
use record::count::plural;
use tokio::time::Instant;

use crate::stderr::say;

/// Between two plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// A worker in this process needs a moment to join.
const TO_JOIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Progress {
    shown: Shown,
    /// When following began. A resumed run began long before.
    began: Instant,
    /// No new trials start, so only the running ones are left.
    draining: bool,
}

#[derive(Debug)]
enum Shown {
    Quiet,
    Plain { said: Option<Instant> },
    Bar(ProgressBar),
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { shown: Shown::new(quiet), began: Instant::now(), draining: false }
    }

    /// From now on, only running trials count as left.
    pub(crate) fn drain(&mut self) {
        self.draining = true;
    }

    pub(crate) fn show(&mut self, progress: &v1::Progress) {
        let planned = to_play(progress, self.draining);
        let figures = figures(progress, self.draining, self.began.elapsed());
        match &mut self.shown {
            Shown::Quiet => {}
            Shown::Bar(bar) => {
                bar.set_length(planned);
                bar.set_position(done(progress));
                bar.set_message(record::visible::text(&figures).into_owned());
            }
            Shown::Plain { said } => {
                if said.is_none_or(|said| said.elapsed() >= PLAIN_EVERY) {
                    *said = Some(Instant::now());
                    say(&format!("{}/{planned} trials  {figures}", done(progress)));
                }
            }
        }
    }

    /// A line that stays, above the bar.
    pub(crate) fn note(&self, text: &str) {
        match &self.shown {
            Shown::Quiet => {}
            Shown::Bar(bar) => bar.println(record::visible::text(text)),
            Shown::Plain { .. } => say(text),
        }
    }

    pub(crate) fn finish(self, last: Option<&v1::Progress>) {
        match (self.shown, last) {
            (Shown::Bar(bar), _) => bar.finish_and_clear(),
            (Shown::Plain { .. }, Some(last)) => say(&format!(
                "{}/{} trials  {}",
                done(last),
                last.planned,
                figures(last, self.draining, self.began.elapsed())
            )),
            _ => {}
        }
    }
}

impl Shown {
    fn new(quiet: bool) -> Self {
        if quiet {
            return Self::Quiet;
        }
        if !std::io::stderr().is_terminal() {
            return Self::Plain { said: None };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        let style = ProgressStyle::with_template("{spinner:.cyan} {bar:20.green/dim} {pos}/{len} trials  {wide_msg}")
            .map_or_else(|_| ProgressStyle::default_bar(), |style| style.progress_chars("━╸─"));
        bar.set_style(style);
        bar.enable_steady_tick(Duration::from_millis(120));
        Self::Bar(bar)
    }
}

/// The trials that will have ended when the run does.
fn to_play(progress: &v1::Progress, draining: bool) -> u64 {
    if draining { progress.planned.min(done(progress) + progress.running) } else { progress.planned }
}

fn done(progress: &v1::Progress) -> u64 {
    progress.pass + progress.fail + progress.inconclusive + progress.error + progress.skipped + progress.cancelled
}

fn figures(progress: &v1::Progress, draining: bool, watched: Duration) -> String {
    let done = done(progress);
    let left = to_play(progress, draining).saturating_sub(done);
    let seconds = progress.elapsed_millis as f64 / 1_000.0;
    let rate = if seconds > 0.0 { done as f64 / seconds } else { 0.0 };
    let mut text = String::new();
    if let Some(load) = &progress.load {
        let [offered, completed] = [load.offered, load.completed].map(HumanCount);
        let [dropped, running] = [load.dropped, load.running].map(HumanCount);
        text = format!("{offered} offered, {completed} completed, {dropped} dropped, {running} under way  ");
    }
    text.push_str(&format!("{} passing, {} failing", progress.pass, progress.fail));
    if progress.error > 0 {
        text.push_str(&format!(", {}", plural(progress.error, "error", "errors")));
    }
    // Of a load, those of the warm-up are skipped too, and the dropped ones are shown already.
    let (skipped, left_out) = match &progress.load {
        Some(load) => (0, progress.skipped.saturating_sub(load.dropped)),
        None => (progress.skipped, 0),
    };
    for (trials, words) in [
        (progress.inconclusive + skipped + progress.cancelled, "without a verdict"),
        (left_out, "left out of the figures"),
    ] {
        if trials > 0 {
            text.push_str(&format!(", {trials} {words}"));
        }
    }
    // A part of it is estimated.
    let mark = if progress.estimated_calls > 0 { "~" } else { "" };
    let cost = match (progress.cost_nanos, progress.unpriced_calls) {
        (nanos, 0) => format!("{mark}{}", record::Usd(nanos)),
        (..=0, _) => "cost unknown".to_owned(),
        (nanos, _) => format!("{mark}{}+", record::Usd(nanos)),
    };
    let tokens = HumanCount(progress.input_tokens + progress.output_tokens);
    let budget = progress.max_cost_nanos.map_or_else(String::new, |most| format!(" of {}", record::Usd(most)));
    text.push_str(&format!("  {rate:.1}/s  {mark}{tokens} tokens  {cost}{budget}"));
    if draining {
        text.push_str(&format!("  {left} being finished"));
    }
    if rate > 0.0 && left > 0 {
        let seconds = left as f64 / rate;
        text.push_str(&format!("  {} left", HumanDuration(Duration::from_secs_f64(seconds.min(1e9)))));
    }
    if progress.workers == 0 && left > 0 && watched > TO_JOIN {
        text.push_str("  waiting for a worker");
    } else if !progress.waiting_for.is_empty() {
        text.push_str(&format!("  waiting: {}", progress.waiting_for));
    }
    if progress.lost_attempts > 0 {
        let lost = plural(progress.lost_attempts, "attempt", "attempts");
        text.push_str(&format!("  {lost} lost"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_an_interrupt_only_running_trials_are_left() {
        let progress = v1::Progress {
            planned: 1_000,
            pass: 90,
            fail: 10,
            running: 5,
            elapsed_millis: 10_000,
            workers: 1,
            ..v1::Progress::default()
        };
        assert!(
            figures(&progress, false, Duration::ZERO).ends_with("2 minutes left"),
            "{}",
            figures(&progress, false, Duration::ZERO)
        );
        let draining = figures(&progress, true, Duration::ZERO);
        assert!(draining.contains("5 being finished") && !draining.contains("minute"), "{draining}");
        assert_eq!((to_play(&progress, false), to_play(&progress, true)), (1_000, 105));
        let over = v1::Progress { running: 0, ..progress };
        assert!(!figures(&over, true, Duration::ZERO).contains("left"), "{}", figures(&over, true, Duration::ZERO));
    }

    #[test]
    fn a_load_shows_what_became_of_the_offered_conversations() {
        let load = v1::LoadProgress { offered: 1_204, completed: 1_144, dropped: 4, running: 56 };
        let progress = v1::Progress { pass: 1_144, load: Some(load), ..v1::Progress::default() };
        let text = figures(&progress, false, Duration::ZERO);
        assert!(
            text.starts_with("1,204 offered, 1,144 completed, 4 dropped, 56 under way  1144 passing, 0 failing"),
            "{text}"
        );
    }

    #[test]
    fn the_warm_up_of_a_load_is_left_out_of_the_figures() {
        let load = v1::LoadProgress { offered: 80, completed: 78, dropped: 2, ..v1::LoadProgress::default() };
        let progress = v1::Progress { pass: 18, skipped: 62, load: Some(load), ..v1::Progress::default() };
        let text = figures(&progress, false, Duration::ZERO);
        assert!(text.contains("18 passing, 0 failing, 60 left out of the figures  "), "{text}");
    }

    #[test]
    fn an_error_of_the_agent_is_not_without_a_verdict() {
        let progress = v1::Progress { pass: 3, fail: 1, error: 2, skipped: 4, ..v1::Progress::default() };
        let text = figures(&progress, false, Duration::ZERO);
        assert!(text.starts_with("3 passing, 1 failing, 2 errors, 4 without a verdict  "), "{text}");
    }
}
