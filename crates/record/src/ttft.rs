//! TTFT, the time to first token: from the user's message to the first token of the agent's answer.
//!
//! An agent may call its model several times in a turn, with tool calls in between. Only the last request gives the
//! answer that the user sees, so everything before it is part of the TTFT.

use crate::{Role, Turn};

impl Turn {
    /// The TTFT of the turn; `None` if the answer was not streamed, or did not arrive.
    #[must_use]
    pub fn first_token_micros(&self) -> Option<u64> {
        let last = self.calls.iter().rfind(|call| call.role == Role::Agent && call.error.is_none())?;
        let before = self.duration_micros.saturating_sub(last.total_micros);
        Some(before.saturating_add(last.ttft_micros?))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Call, Role, Tokens, Turn, turn::Origin};

    fn call(role: Role, ttft_micros: Option<u64>, total_micros: u64, error: Option<&str>) -> Call {
        Call {
            role,
            endpoint: "e".to_owned(),
            model: "m".to_owned(),
            started_micros: 0,
            wait_micros: 0,
            connect_micros: None,
            ttft_micros,
            inter_token_micros: None,
            total_micros,
            retried_micros: 0,
            tokens: Tokens::default(),
            texts: None,
            estimated: false,
            cost: None,
            plain_priced: false,
            limits: crate::named_limits::NamedLimits::default(),
            reported_cost: None,
            finish: None,
            tries: 1,
            throttled_tries: 0,
            lost_tries: 0,
            error: error.map(str::to_owned),
            error_kind: None,
            of_trial: false,
        }
    }

    #[test]
    fn the_first_token_of_the_last_answered_request_counts() {
        let (agent, judge) = (Role::Agent, Role::Judge);
        let rows = [
            (vec![], None),
            (vec![call(agent, Some(200), 900, None)], Some(300)),
            (vec![call(agent, None, 900, None)], None),
            (vec![call(agent, Some(5), 500, None), call(agent, Some(100), 400, None)], Some(700)),
            (vec![call(agent, Some(100), 400, None), call(judge, Some(1), 9, None)], Some(700)),
            (vec![call(agent, Some(100), 400, None), call(agent, Some(1), 9, Some("cut"))], Some(700)),
        ];
        for (calls, expected) in rows {
            let mut turn = Turn::new(1, 1, Origin::Scripted, "Hi".to_owned(), 0);
            (turn.duration_micros, turn.calls) = (1_000, calls);
            assert_eq!(turn.first_token_micros(), expected, "{:?}", turn.calls);
        }
    }
}
