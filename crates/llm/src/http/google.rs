//! Details in Google's error of a refused call: how long to wait, and whether the day's quota is used up.

use std::time::Duration;

use serde_json::Value;

/// `RetryInfo`: the pause that a 429 asks for, such as `45.8s`.
pub(super) fn retry_delay(error: &Value) -> Option<Duration> {
    let delay = details(error, "google.rpc.RetryInfo").find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// `QuotaFailure`: a quota of the day, which no pause brings back in time.
pub(super) fn is_daily(error: &Value) -> bool {
    let failures = details(error, "google.rpc.QuotaFailure");
    let violations = failures.filter_map(|detail| detail.get("violations")?.as_array()).flatten();
    let mut ids = violations.filter_map(|violation| violation.get("quotaId")?.as_str());
    ids.any(|id| id.contains("PerDay"))
}

fn details<'a>(error: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    details.filter(move |detail| detail.get("@type").and_then(Value::as_str).is_some_and(|name| name.ends_with(kind)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(quota: &str, delay: &str) -> Value {
        json!({ "code": 429, "status": "RESOURCE_EXHAUSTED", "details": [
            { "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{ "quotaId": quota }] },
            { "@type": "type.googleapis.com/google.rpc.Help", "links": [] },
            { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay },
        ] })
    }

    #[test]
    fn details_tell_how_long_and_whether_at_all() {
        let rows = [
            ("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "45.8s", Some(45_800), false),
            ("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "17s", Some(17_000), true),
            ("x", "0s", Some(0), false),
            ("x", "-1s", None, false),
            ("x", "soon", None, false),
            ("x", "1e300s", None, false),
        ];
        for (quota, delay, millis, daily) in rows {
            let error = error(quota, delay);
            assert_eq!((retry_delay(&error), is_daily(&error)), (millis.map(Duration::from_millis), daily), "{error}");
        }
        for none in [json!({}), json!({ "details": {} }), json!({ "details": [1, { "@type": 2 }] }), json!("no")] {
            assert_eq!((retry_delay(&none), is_daily(&none)), (None, false), "{none}");
        }
    }
}
