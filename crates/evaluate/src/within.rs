//! Waits for a state: reads it again until it is as expected, or the time is over.

use std::{future::Future, pin::Pin, time::Duration};

use record::Finding;
use tokio::time::sleep;

use crate::outcome::Outcome;

/// Between two looks: the first pause, which doubles, and the longest.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(2);

type Look<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// Waits `within_ms` in total. The time of the reads does not count, so that a slow service gets as many of them.
pub(crate) async fn within<'a>(within_ms: u64, look: impl Fn() -> Look<'a> + Send + Sync) -> Outcome {
    let mut left = Duration::from_millis(within_ms);
    let mut pause = PAUSE;
    loop {
        let outcome = look().await;
        if outcome.finding == Finding::Pass || left.is_zero() {
            return outcome;
        }
        let wait = pause.min(left);
        sleep(wait).await;
        left -= wait;
        pause = (pause * 2).min(LONGEST);
    }
}
