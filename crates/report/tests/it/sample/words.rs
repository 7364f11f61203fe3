//! The messages of the hand-made runs.

use record::{
    Call, Role, Simulated, Tokens, Turn, Usd,
    call::ErrorKind,
    named_limits::{LimitOf, NamedLimits},
    turn::{Note, Origin, ToolCall},
};

use super::End::{self, Fail, FailAfter, SimulatorLost, Timeout};

pub(super) fn turns(number: u64, count: u32, end: End) -> Vec<Turn> {
    const USER: [&str; 4] = [
        "Hi! I was charged twice for my order last week.",
        "It is 1234-99. I would really like this solved today, please.",
        "Both charges are on my statement: 49.90 each.\nCan you send one of them back?",
        "And how long will that take?",
    ];
    const AGENT: [&str; 4] = [
        "I am sorry to hear that. Could you tell me your order number?",
        "Thank you. I see order 1234-99 with two payments of 49.90. Let me check both.",
        "I have started a refund of 49.90 to your card. You will get an e-mail in a minute.",
        "It usually takes two to three working days. Is there anything else that I can do for you?",
    ];
    (1..=count)
        .map(|turn| {
            let index = turn as usize - 1;
            let last = turn == count;
            let duration_micros = 420_000 + (number * 7_919 + u64::from(turn) * 104_729) % 97 * 21_000;
            let agent = match end {
                Fail if turn == 3 => Some("You can read about that in our help centre."),
                FailAfter if turn == 4 => Some("Of course! Could you tell me your order number?"),
                Timeout if last => None,
                SimulatorLost if last => None,
                _ => Some(AGENT[index]),
            };
            let throttled = turn == 2 && number.is_multiple_of(4);
            let agent_call = Call {
                role: Role::Agent,
                endpoint: "agent".to_owned(),
                model: "support-1".to_owned(),
                started_micros: u64::from(turn) * 2_000_000,
                wait_micros: if turn == 2 { 180_000 } else { 0 },
                connect_micros: None,
                ttft_micros: agent.map(|_| duration_micros / 3),
                inter_token_micros: Some(21_000),
                total_micros: duration_micros,
                // An agent whose provider throttles it occasionally.
                retried_micros: if throttled { 4_200_000 } else { 0 },
                tokens: Tokens { input: 180 + 60 * u64::from(turn), output: 24, ..Tokens::default() },
                texts: None,
                estimated: false,
                cost: Some(Usd(90_000)),
                plain_priced: false,
                limits: NamedLimits::default(),
                reported_cost: None,
                finish: None,
                tries: if throttled { 3 } else { 1 },
                throttled_tries: if throttled { 2 } else { 0 },
                lost_tries: 0,
                error: agent.is_none().then(|| "no reply within 30 s".to_owned()),
                error_kind: agent.is_none().then_some(ErrorKind::TimedOut),
                of_trial: false,
            };
            let mut calls = vec![agent_call.clone()];
            if turn > 1 {
                calls.push(Call {
                    role: Role::UserSim,
                    endpoint: "sim".to_owned(),
                    model: "small-chat".to_owned(),
                    estimated: true,
                    cost: Some(Usd(12_000)),
                    retried_micros: 0,
                    tries: 1,
                    throttled_tries: 0,
                    ..agent_call.clone()
                });
            }
            if last {
                calls.push(Call {
                    role: Role::Judge,
                    endpoint: "judge".to_owned(),
                    model: "judge-xl".to_owned(),
                    cost: None,
                    limits: [(LimitOf::Requests, 500), (LimitOf::Tokens, if number < 4 { 60_000 } else { 90_000 })]
                        .into(),
                    ..agent_call
                });
            }
            Turn {
                number: turn,
                step: 1,
                speaker: if turn == 1 { Origin::Scripted } else { Origin::Simulated },
                user: USER[index].to_owned(),
                simulated: simulated(turn),
                agent: agent.map(str::to_owned),
                messages: Vec::new(),
                exit_code: None,
                tool_calls: if turn == 2 {
                    vec![ToolCall {
                        id: "call_1".to_owned(),
                        name: "find_order".to_owned(),
                        arguments: "{\"order\":\"1234-99\",\"with\":[\"payments\"]}".to_owned(),
                        result: Some("{\"payments\":[{\"amount\":49.9},{\"amount\":49.9}]}".to_owned()),
                    }]
                } else {
                    Vec::new()
                },
                actions: if turn == 3 { vec!["START_REFUND".to_owned()] } else { Vec::new() },
                started_micros: u64::from(turn) * 2_000_000,
                duration_micros,
                response_micros: Some(duration_micros + calls[0].wait_micros + calls[0].retried_micros),
                calls,
                notes: if turn == 2 {
                    vec![Note { kind: "termination".to_owned(), text: "not yet: the problem is not solved".to_owned() }]
                } else {
                    Vec::new()
                },
            }
        })
        .collect()
}

/// A user with states, who looks at its own bank account before turn 3.
fn simulated(turn: u32) -> Option<Box<Simulated>> {
    let state = match turn {
        1 => return None,
        2 => "explains",
        _ => "insists",
    };
    let look = ToolCall {
        id: "look_1".to_owned(),
        name: "read_bank_statement".to_owned(),
        arguments: "{\"month\":\"May\"}".to_owned(),
        result: Some("[{\"shop\":49.9},{\"shop\":49.9}]".to_owned()),
    };
    let calls = if turn == 3 { vec![look] } else { Vec::new() };
    Simulated { state: Some(state.to_owned()), calls, ..Simulated::default() }.boxed()
}
