//! Live progress: a bar on a terminal, a plain line now and then elsewhere, nothing when quiet.

use std::{io::IsTerminal as _, time::Duration};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use proto::v1;
use tokio::time::Instant;

/// Between two plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) enum Progress {
    Quiet,
    Plain { said: Option<Instant> },
    Bar(ProgressBar),
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        if quiet {
            return Self::Quiet;
        }
        if !std::io::stderr().is_terminal() {
            return Self::Plain { said: None };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        let style = ProgressStyle::with_template("{spinner:.cyan} {bar:32.green/dim} {pos}/{len} trials  {msg}")
            .map_or_else(|_| ProgressStyle::default_bar(), |style| style.progress_chars("━╸─"));
        bar.set_style(style);
        bar.enable_steady_tick(Duration::from_millis(120));
        Self::Bar(bar)
    }

    pub(crate) fn show(&mut self, progress: &v1::Progress) {
        match self {
            Self::Quiet => {}
            Self::Bar(bar) => {
                bar.set_length(progress.planned);
                bar.set_position(done(progress));
                bar.set_message(figures(progress));
            }
            Self::Plain { said } => {
                if said.is_none_or(|said| said.elapsed() >= PLAIN_EVERY) {
                    *said = Some(Instant::now());
                    say(&format!("{}/{} trials  {}", done(progress), progress.planned, figures(progress)));
                }
            }
        }
    }

    /// A line that stays, above the bar.
    pub(crate) fn note(&self, text: &str) {
        match self {
            Self::Quiet => {}
            Self::Bar(bar) => bar.println(text),
            Self::Plain { .. } => say(text),
        }
    }

    pub(crate) fn finish(self, last: Option<&v1::Progress>) {
        match (self, last) {
            (Self::Bar(bar), _) => bar.finish_and_clear(),
            (Self::Plain { .. }, Some(last)) => {
                say(&format!("{}/{} trials  {}", done(last), last.planned, figures(last)))
            }
            _ => {}
        }
    }
}

fn done(progress: &v1::Progress) -> u64 {
    progress.pass + progress.fail + progress.inconclusive + progress.error + progress.skipped + progress.cancelled
}

fn figures(progress: &v1::Progress) -> String {
    let done = done(progress);
    let seconds = progress.elapsed_millis as f64 / 1_000.0;
    let rate = if seconds > 0.0 { done as f64 / seconds } else { 0.0 };
    let mut text = format!("{} passing, {} failing", progress.pass, progress.fail);
    let other = progress.inconclusive + progress.error + progress.skipped + progress.cancelled;
    if other > 0 {
        text.push_str(&format!(", {other} without a verdict"));
    }
    text.push_str(&format!(
        "  {rate:.1}/s  {} tokens  {}{}",
        HumanCount(progress.input_tokens + progress.output_tokens),
        record::Usd(progress.cost_nanos),
        if progress.unpriced_calls > 0 { "+" } else { "" },
    ));
    if rate > 0.0 && done < progress.planned {
        let left = (progress.planned - done) as f64 / rate;
        text.push_str(&format!("  {} left", HumanDuration(Duration::from_secs_f64(left.min(1e9)))));
    }
    // An embedded worker needs a moment to join.
    if progress.workers == 0 && done < progress.planned && seconds > 1.0 {
        text.push_str("  waiting for a worker");
    } else if !progress.waiting_for.is_empty() {
        text.push_str(&format!("  waiting: {}", progress.waiting_for));
    }
    if progress.lost_attempts > 0 {
        text.push_str(&format!("  {} attempts lost", progress.lost_attempts));
    }
    text
}

#[expect(clippy::print_stderr, reason = "progress is what this file prints")]
fn say(text: &str) {
    eprintln!("{text}");
}
