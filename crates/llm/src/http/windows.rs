//! The rate-limit windows that providers report with every answer: how long to wait if one is used up, and how full
//! each is.

use std::{
    num::NonZeroU64,
    time::{Duration, SystemTime},
};

use ::http::header::{DATE, HeaderMap};
use chrono::DateTime;

use super::retry_after::{number, spelled};
use crate::named_limits::{Filling, Window, Windows};

/// A window that lasts longer is a quota, and no run waits for that.
const LONGEST: Duration = Duration::from_secs(60);

/// The headers for the limit, the remainder and the reset: of OpenAI and compatible servers, then of Anthropic.
const WINDOWS: [[&str; 3]; 6] = [
    ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
    ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
    [
        "anthropic-ratelimit-requests-limit",
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ],
    ["anthropic-ratelimit-tokens-limit", "anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"],
    [
        "anthropic-ratelimit-input-tokens-limit",
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset",
    ],
    [
        "anthropic-ratelimit-output-tokens-limit",
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-reset",
    ],
];

/// Until every window that is used up has room again; `None` if none is. The reset time is when the window is full
/// again, so it means nothing while something remains. Some servers report windows with a limit of zero or less, which
/// limit nothing.
pub(crate) fn used_up(headers: &HeaderMap) -> Option<Duration> {
    if !has_windows(headers) {
        return None;
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let of_window = |[limit, remaining, reset]: &[&str; 3]| {
        let is_used_up = text(remaining)?.parse::<i64>().ok()? == 0;
        let limits = text(limit).is_none_or(|limit| limit.parse::<i64>().is_ok_and(|limit| limit > 0));
        if !is_used_up || !limits {
            return None;
        }
        let reset = text(reset)?;
        spelled(reset).or_else(|| number(reset, 1.0)).or_else(|| until(reset, text(DATE.as_str())?))
    };
    WINDOWS.iter().filter_map(of_window).max().map(|wait| wait.min(LONGEST))
}

/// The windows that the answer reports, if something of them is used.
///
/// Anthropic's windows cover a minute. Its window of all tokens repeats the tightest of the others, so those of input
/// and output are used. Elsewhere a window may cover a second, an hour or a day.
pub(crate) fn reported(headers: &HeaderMap) -> Windows {
    if !has_windows(headers) {
        return Windows::default();
    }
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    let minute = |[limit, _, _]: &[&str; 3]| number(limit).and_then(NonZeroU64::new).map(Window::Minute);
    let unnamed = |[limit, remaining, reset]: &[&str; 3]| {
        let (limit, remaining) = (NonZeroU64::new(number(limit)?)?, number(remaining)?);
        let reset = headers.get(*reset)?.to_str().ok()?.trim();
        let empty_in = spelled(reset).or_else(|| super::retry_after::number(reset, 1.0))?;
        let used = NonZeroU64::new(limit.get().checked_sub(remaining)?)?;
        Some(Window::Unnamed(Filling { limit, used, empty_in }))
    };
    let [requests, tokens, of_anthropic, _, input, output] = &WINDOWS;
    Windows {
        requests: minute(of_anthropic).or_else(|| unnamed(requests)),
        tokens: unnamed(tokens),
        input_tokens: minute(input),
        output_tokens: minute(output),
    }
}

/// Most servers name no window: a look at the few names that an answer has is cheaper than a search for each of [`WINDOWS`].
fn has_windows(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name.as_str().contains("-ratelimit-"))
}

/// Until a time as RFC 3339 writes it, read against the server's own clock.
fn until(time: &str, now: &str) -> Option<Duration> {
    let now = httpdate::parse_http_date(now).ok()?;
    let then = SystemTime::from(DateTime::parse_from_rfc3339(time).ok()?);
    Some(then.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        named_limits::Allowed,
        wire::{Lines, headers},
    };

    #[test]
    fn only_a_window_that_is_used_up_asks_for_a_wait() {
        const NOW: (&str, &str) = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");
        let rows: &[(Lines<'_>, Option<u64>)] = &[
            (&[], None),
            (&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "12s")], Some(12_000)),
            (&[("x-ratelimit-remaining-requests", "3"), ("x-ratelimit-reset-requests", "6m0s")], None),
            (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0s")], Some(60_000)),
            (
                &[
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", "1s"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "7.5"),
                ],
                Some(7_500),
            ),
            // Windows that limit nothing.
            (
                &[
                    ("x-ratelimit-limit-requests", "-1"),
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", "9s"),
                ],
                None,
            ),
            (
                &[
                    ("x-ratelimit-limit-tokens", "0"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "9s"),
                ],
                None,
            ),
            (&[("x-ratelimit-remaining-requests", "-1"), ("x-ratelimit-reset-requests", "9s")], None),
            (&[("x-ratelimit-remaining-requests", "0")], None),
            (
                &[
                    ("anthropic-ratelimit-input-tokens-limit", "50000"),
                    ("anthropic-ratelimit-input-tokens-remaining", "0"),
                    ("anthropic-ratelimit-input-tokens-reset", "2026-10-21T07:28:30Z"),
                    NOW,
                ],
                Some(30_000),
            ),
            (
                &[
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", "2026-10-21T07:27:00Z"),
                    NOW,
                ],
                Some(0),
            ),
            (
                &[
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", "2026-10-21T07:28:30Z"),
                ],
                None,
            ),
        ];
        for (lines, millis) in rows {
            assert_eq!(used_up(&headers(lines)), millis.map(Duration::from_millis), "{lines:?}");
        }
    }

    #[test]
    fn an_answer_reports_how_full_its_windows_are() {
        let openai = |limit: &'static str, remaining: &'static str, reset: &'static str| {
            let lines: Vec<(&'static str, &str)> = vec![
                ("x-ratelimit-limit-requests", limit),
                ("x-ratelimit-remaining-requests", remaining),
                ("x-ratelimit-reset-requests", reset),
            ];
            reported(&headers(&lines)).of_about_a_minute().requests.map(NonZeroU64::get)
        };
        let rows = [
            ("500", "499", "120ms", Some(500)),
            ("60", "30", "30s", Some(60)),
            ("100", "40", "36", Some(100)),
            // Of a day, of a second, and a full one, whose length is unknown.
            ("14400", "14370", "2m59.56s", None),
            ("10", "5", "0.5", None),
            ("60", "60", "0s", None),
            ("60", "70", "1s", None),
            ("0", "0", "1s", None),
            ("-1", "0", "1s", None),
            ("many", "1", "1s", None),
        ];
        for (limit, remaining, reset, expected) in rows {
            assert_eq!(openai(limit, remaining, reset), expected, "{limit} {remaining} {reset}");
        }
        let tokens = reported(&headers(&[
            ("x-ratelimit-limit-tokens", "150000"),
            ("x-ratelimit-remaining-tokens", "149984"),
            ("x-ratelimit-reset-tokens", "6ms"),
        ]));
        let [limit, used] = [150_000, 16].map(|number| NonZeroU64::new(number).expect("a number"));
        let filling = Filling { limit, used, empty_in: Duration::from_millis(6) };
        assert_eq!(tokens, Windows { tokens: Some(Window::Unnamed(filling)), ..Windows::default() });
        assert_eq!(tokens.of_about_a_minute(), Allowed { tokens: Some(limit), ..Allowed::default() });
        let anthropic = reported(&headers(&[
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-tokens-limit", "8000"),
            ("anthropic-ratelimit-input-tokens-limit", "30000"),
            ("anthropic-ratelimit-output-tokens-limit", "8000"),
        ]));
        let expected = Allowed {
            requests: NonZeroU64::new(50),
            tokens: None,
            input_tokens: NonZeroU64::new(30_000),
            output_tokens: NonZeroU64::new(8_000),
        };
        assert_eq!(anthropic, expected.and_then(|limit| Some(Window::Minute(limit))));
        assert_eq!(reported(&HeaderMap::new()), Windows::default());
    }

    #[test]
    fn a_time_is_read_against_the_servers_clock() {
        const NOW: &str = "Wed, 21 Oct 2026 07:28:00 GMT";
        let rows = [
            ("2026-10-21T07:28:30Z", Some(30_000)),
            ("2026-10-21T07:28:30.123Z", Some(30_123)),
            ("2026-10-21T09:28:30+02:00", Some(30_000)),
            ("2000-02-29T12:00:00Z", Some(0)),
            ("2026-13-21T07:28:30Z", None),
            ("soon", None),
        ];
        for (time, expected) in rows {
            assert_eq!(until(time, NOW).map(|wait| wait.as_millis()), expected, "{time}");
        }
        assert_eq!(until("2026-10-21T07:28:30Z", "now"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_not(text in "\\PC{0,30}", time in "[0-9]{1,20}-[0-9]{1,3}-[0-9]{1,3}T[0-9]{1,3}:[0-9]{1,20}:[0-9]{1,3}Z") {
            let now = "Wed, 21 Oct 2026 07:28:00 GMT";
            let _ = (until(&text, now), until(&time, now), until(&time, &text));
        }
    }
}
