//! The pause that a 429 asks for: `Retry-After` in every spelling that providers use.

use std::time::Duration;

use ::http::header::{DATE, HeaderMap, RETRY_AFTER};

use super::windows;

/// Reads `retry-after-ms`, then `Retry-After`, then the rate-limit windows that are used up.
///
/// A date is compared with the server's own `Date`: its clock may differ from ours.
pub(crate) fn asked(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    text("retry-after-ms")
        .and_then(|text| number(text, 0.001))
        .or_else(|| {
            text(RETRY_AFTER.as_str())
                .and_then(|after| number(after, 1.0).or_else(|| until(after, text(DATE.as_str())?)))
        })
        .or_else(|| windows::used_up(headers))
}

/// Until an HTTP date; a date that is past asks for no wait.
fn until(date: &str, now: &str) -> Option<Duration> {
    let date = httpdate::parse_http_date(date).ok()?;
    let now = httpdate::parse_http_date(now).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

pub(super) fn number(text: &str, unit_seconds: f64) -> Option<Duration> {
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    text.parse::<f64>().ok().and_then(|number| Duration::try_from_secs_f64(number * unit_seconds).ok())
}

/// As Go writes durations: `6m0s`, `1h2m3.5s`, `120ms`.
pub(super) fn spelled(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (value, after) = rest.split_at(digits);
        let unit = after.find(|letter: char| letter.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let seconds = match unit {
            "d" => 86_400.0,
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        sum = sum.checked_add(number(value, seconds)?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::{Lines, headers};

    #[test]
    fn every_spelling() {
        const NOW: (&str, &str) = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");
        let rows: &[(Lines<'_>, Option<u64>)] = &[
            (&[("retry-after", "7")], Some(7_000)),
            (&[("retry-after", "0")], Some(0)),
            (&[("retry-after", "1.5")], Some(1_500)),
            (&[("retry-after", "3600")], Some(3_600_000)),
            (&[("retry-after", " 2 ")], Some(2_000)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "inf")], None),
            (&[("retry-after", "1e999")], None),
            (&[("retry-after", "99999999999999999999999")], None),
            (&[("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"), NOW], Some(30_000)),
            (&[("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT"), NOW], Some(0)),
            (&[("retry-after", "Wednesday, 21-Oct-26 07:28:30 GMT"), NOW], Some(30_000)),
            (&[("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT")], None),
            (&[("retry-after-ms", "120")], Some(120)),
            (&[("retry-after-ms", "120"), ("retry-after", "7")], Some(120)),
            (&[("retry-after-ms", "x"), ("retry-after", "7")], Some(7_000)),
            (&[("x-ratelimit-reset-requests", "6m0s")], None),
            (&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6s")], Some(6_000)),
            (&[("retry-after", "2"), ("x-ratelimit-reset-requests", "6m0s")], Some(2_000)),
            (&[], None),
        ];
        for (lines, millis) in rows {
            assert_eq!(asked(&headers(lines)), millis.map(Duration::from_millis), "{lines:?}");
        }
    }

    #[test]
    fn durations_as_go_writes_them() {
        let rows = [
            ("6m0s", Some(360_000)),
            ("120ms", Some(120)),
            ("1h2m3.5s", Some(3_723_500)),
            ("1d", Some(86_400_000)),
            ("6m0", None),
            ("m", None),
            ("", None),
        ];
        for (text, millis) in rows {
            assert_eq!(spelled(text), millis.map(Duration::from_millis), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_not(text in "\\PC{0,30}") {
            let _ = (spelled(&text), number(&text, 1.0), until(&text, &text));
        }

        #[test]
        fn durations_of_any_size(text in "([0-9.]{1,30}(h|m|s|ms|d|us)){0,4}") {
            let _ = spelled(&text);
        }
    }
}
