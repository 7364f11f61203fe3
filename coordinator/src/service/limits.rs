//! What workers say of their limits, from the wire, and the answers to it.

use proto::v1;

use crate::dispatcher::{
    command::{LimitWord, Message},
    days::{DayGrant, DayWord},
    shares::{Demand, Share, WHOLE},
};

/// A worker has a limit for each endpoint and agent of its settings.
const MOST_LIMITS: usize = 10_000;
const LONGEST_NAME: usize = 1_024;

pub(super) fn read(said: v1::Limits) -> Message {
    if said.limits.len() > MOST_LIMITS || said.limits.iter().any(|limit| limit.name.len() > LONGEST_NAME) {
        let reason = format!("more than {MOST_LIMITS} limits, or a name of more than {LONGEST_NAME} bytes");
        return Message::Malformed { reason };
    }
    let day = |v1::Day { most, day, got, returned, wanted }| DayWord { most, day, got, returned, wanted };
    let limit = |v1::Limit { name, day: of_day, part, calls, concurrency }: v1::Limit| {
        let demand = Demand { part: part.min(WHOLE), calls, concurrency };
        LimitWord { name, demand, day: of_day.map(day) }
    };
    Message::Limits { limits: said.limits.into_iter().map(limit).collect() }
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
