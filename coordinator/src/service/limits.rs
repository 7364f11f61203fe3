//! What workers say of their limits, from the wire, and the answers to it.

use std::time::Duration;

use proto::v1;
use record::named_limits::{LimitOf, NamedLimits};

use crate::dispatcher::{
    command::{LimitWord, Message},
    limit_words::Health,
    limit_words::{DayGrant, DayWord},
    shares::{Demand, Share, WHOLE},
};

/// A worker has a limit for each endpoint and agent of its settings.
const MOST_LIMITS: usize = 10_000;
const LONGEST_NAME: usize = 1_024;
/// A year: longer than any provider means.
const LONGEST_PAUSE_MILLIS: u64 = 365 * 86_400_000;

pub(super) fn read(said: v1::Limits) -> Message {
    if said.limits.len() > MOST_LIMITS || said.limits.iter().any(|limit| !is_name(&limit.name)) {
        let reason = format!(
            "more than {MOST_LIMITS} limits, or a name with control characters or more than {LONGEST_NAME} bytes"
        );
        return Message::Malformed { reason };
    }
    let day = |v1::Day { most, day, got, returned, wanted }| DayWord { most, day, got, returned, wanted };
    let limit = |limit: v1::Limit| {
        let v1::Limit { name, day: of_day, part, calls, concurrency, episodes, pause_millis, closed, named } = limit;
        let pause = Duration::from_millis(pause_millis.min(LONGEST_PAUSE_MILLIS));
        let closed = Some(closed).filter(|reason| !reason.is_empty()).map(|reason| text(&reason));
        let health = Health { episodes, pause, closed, named: named_from_wire(named.unwrap_or_default()) };
        let demand = Demand { part: part.min(WHOLE), calls, concurrency };
        LimitWord { name, demand, health, day: of_day.map(day) }
    };
    Message::Limits { limits: said.limits.into_iter().map(limit).collect() }
}

/// People read it in terminals and reports.
fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME && !name.chars().any(char::is_control)
}

/// A reason for people, not longer than one.
fn text(reason: &str) -> String {
    reason.chars().filter(|letter| !letter.is_control()).take(LONGEST_NAME).collect()
}

pub(super) fn pause_to_wire(limit: String, pause: Duration) -> v1::Pause {
    v1::Pause { limit, millis: u64::try_from(pause.as_millis()).unwrap_or(u64::MAX) }
}

pub(super) fn learned_to_wire(limit: String, named: &NamedLimits) -> v1::Learned {
    let number = |of| named.get(&of).copied().unwrap_or(0);
    let named = v1::NamedLimits {
        requests: number(LimitOf::Requests),
        tokens: number(LimitOf::Tokens),
        input_tokens: number(LimitOf::InputTokens),
        output_tokens: number(LimitOf::OutputTokens),
    };
    v1::Learned { limit, named: Some(named) }
}

fn named_from_wire(named: v1::NamedLimits) -> NamedLimits {
    let v1::NamedLimits { requests, tokens, input_tokens, output_tokens } = named;
    let all = [
        (LimitOf::Requests, requests),
        (LimitOf::Tokens, tokens),
        (LimitOf::InputTokens, input_tokens),
        (LimitOf::OutputTokens, output_tokens),
    ];
    all.into_iter().filter(|(_, limit)| *limit > 0).collect()
}

pub(super) fn taken(v1::Share { parts, limit, calls, .. }: v1::Share) -> Message {
    Message::ShareTaken { limit, share: Share { part: parts, calls } }
}

pub(super) fn share_to_wire(limit: String, Share { part, calls }: Share) -> v1::Share {
    v1::Share { parts: part, of: WHOLE, limit, calls }
}

pub(super) fn day_to_wire(limit: String, grant: DayGrant) -> v1::DayGrant {
    let DayGrant { day, got, left, used_up } = grant;
    let left_millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    v1::DayGrant { limit, day, got, left_millis, used_up }
}
