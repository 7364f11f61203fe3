//! The retry budget of an endpoint: repeated calls may be a fifth of all calls, and ten a second besides.
//!
//! Without it, a server that fails under load gets five times the load. The budget is `tower`'s, as Finagle has it.

use std::time::Duration;

use tower::retry::budget::{Budget as _, TpsBudget};

use crate::Error;

/// How long a call counts.
const TTL: Duration = Duration::from_secs(10);
const LEAST_A_SECOND: u32 = 10;
const SHARE: f32 = 0.2;
const SPENT: &str = "not tried again: more than a fifth of the calls of the last 10 s to this endpoint were repeated ones (retry budget)";

#[derive(Debug)]
pub(crate) struct RetryBudget(TpsBudget);

impl Default for RetryBudget {
    fn default() -> Self {
        Self(TpsBudget::new(TTL, LEAST_A_SECOND, SHARE))
    }
}

impl RetryBudget {
    /// A call begins.
    pub(crate) fn call(&self) {
        self.0.deposit();
    }

    /// Whether a call may be repeated now.
    pub(crate) fn retry(&self) -> bool {
        self.0.withdraw()
    }
}

/// The error of a call that may not be repeated: what happened, and why it was not tried again.
pub(crate) fn spent(error: Error) -> Error {
    let with = |message: String| format!("{message}; {SPENT}");
    match error {
        Error::TimedOut { endpoint, limit, .. } => {
            let message = with(format!("no answer within {} ms", limit.as_millis()));
            Error::Unreachable { endpoint, status: None, message, sent: true }
        }
        Error::Malformed { endpoint, message, partial } => {
            Error::Malformed { endpoint, message: with(message), partial }
        }
        Error::Unreachable { endpoint, status, message, sent } => {
            Error::Unreachable { endpoint, status, message: with(message), sent }
        }
        Error::OutOfResources { endpoint, message, sent } => {
            Error::OutOfResources { endpoint, message: with(message), sent }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_fifth_of_the_calls_and_ten_a_second_are_repeated() {
        let budget = RetryBudget::default();
        let repeated = || (0..10_000).take_while(|_| budget.retry()).count();
        assert_eq!(repeated(), 100, "ten a second, for ten seconds");
        assert_eq!(repeated(), 0);
        tokio::time::sleep(TTL * 2).await;
        (0..1_000).for_each(|_| budget.call());
        let count = repeated();
        assert!((290..=300).contains(&count), "{count}: a fifth of a thousand, and the least");
    }

    #[test]
    fn the_error_says_why_it_was_not_tried_again() {
        let endpoint = String::new;
        let message = || "m".to_owned();
        let errors = [
            Error::TimedOut { endpoint: endpoint(), place: endpoint(), limit: TTL },
            Error::Malformed { endpoint: endpoint(), message: message(), partial: endpoint() },
            Error::Unreachable { endpoint: endpoint(), status: Some(503), message: message(), sent: true },
        ];
        for error in errors {
            let text = spent(error.clone()).to_string();
            assert!(text.contains("retry budget"), "{text}");
            assert_eq!(spent(error.clone()).may_have_been_charged(), error.may_have_been_charged());
        }
    }
}
