//! Why a coordinator or a worker could not be reached.

use std::error::Error as _;

use tonic::Status;

/// Tonic's message for a layer without information.
const LAYER: &str = "transport error";

/// What a status says, and its causes as far as they say more: "tcp connect error" alone does not tell a wrong name from
/// a port without a listener.
#[must_use]
pub fn reason(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut cause = status.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !said.is_empty() && said != LAYER && !text.contains(&said) {
            text = if text.is_empty() { said } else { format!("{text}: {said}") };
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Around(&'static str, #[source] io::Error);

    #[test]
    fn causes_are_listed_once() {
        for (says, outer, expected) in [
            ("", "tcp connect error", "tcp connect error: nothing listens"),
            ("tcp connect error", "tcp connect error", "tcp connect error: nothing listens"),
            ("tcp connect error", "transport error", "tcp connect error: nothing listens"),
            ("tcp connect error: nothing listens", "tcp connect error", "tcp connect error: nothing listens"),
        ] {
            let mut status = Status::unavailable(says);
            let cause = Around(outer, io::Error::new(io::ErrorKind::ConnectionRefused, "nothing listens"));
            status.set_source(std::sync::Arc::new(cause));
            assert_eq!(reason(&status), expected);
        }
        assert_eq!(reason(&Status::unavailable("away")), "away");
    }
}
