use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::{
    FunctionCall, Message, Usage,
    chat::{Reply, Request},
    gather::MOST_BYTES,
};

fn gathered(pieces: &[&str]) -> Result<Reply, Trouble> {
    let sent = Instant::now();
    let mut gather = Gather::default();
    for (n, piece) in (0_u32..).zip(pieces) {
        let completion = serde_json::from_str(piece).map_err(|error| Trouble::Malformed(error.to_string()))?;
        gather.take(sent + Duration::from_millis(10) * (n + 1), |gather| take(gather, completion))?;
    }
    let request: Request = Request { messages: vec![Message::user("12345678")], ..Request::default() };
    gather.finish(&request, "as asked", sent, sent + Duration::from_secs(1), true)
}

fn whole(message: serde_json::Value) -> Result<Reply, Trouble> {
    gathered(&[&json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }).to_string()])
}

#[test]
fn content_in_all_its_forms() {
    let rows = [
        (json!({ "content": "hi" }), "hi"),
        (json!({ "content": "a \"b\" \u{1F600}" }), "a \"b\" \u{1F600}"),
        (json!({ "content": null }), ""),
        (json!({}), ""),
        (json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }), "ab"),
        (json!({ "content": ["a", { "text": "b" }, { "type": "output_text", "text": "c" }, null] }), "abc"),
        (json!({ "content": [{ "type": "thinking", "text": "hm" }, { "type": "image_url" }] }), ""),
        (json!({ "content": "x", "reasoning_content": "hm" }), "x"),
        (json!({ "content": null, "reasoning_content": "hm" }), ""),
        (json!({ "content": null, "refusal": "I will not." }), "I will not."),
        (json!({ "content": "", "refusal": "I will not." }), "I will not."),
    ];
    for (message, text) in rows {
        assert_eq!(whole(message.clone()).expect("a reply").text, text, "{message}");
    }
    for message in [json!({ "content": 5 }), json!({ "content": true }), json!({ "content": [5] })] {
        assert!(whole(message.clone()).is_err(), "{message}");
    }
}

#[test]
fn tool_calls_whole_and_in_pieces() {
    let call = |id: &str, name: &str, arguments: &str| FunctionCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let delta = |calls: serde_json::Value| json!({ "choices": [{ "delta": { "tool_calls": calls } }] }).to_string();
    let rows = [
        (
            vec![
                json!({ "choices": [{ "message": { "tool_calls": [
                    { "id": "a", "type": "function", "function": { "name": "find", "arguments": "{\"q\":1}" } },
                    { "id": "b", "function": { "name": "open", "arguments": { "n": 2 } } },
                ] } }] })
                .to_string(),
            ],
            vec![call("a", "find", "{\"q\":1}"), call("b", "open", "{\"n\":2}")],
        ),
        (
            vec![
                delta(json!([{ "index": 0, "id": "a", "function": { "name": "find", "arguments": "" } }])),
                delta(json!([{ "index": 0, "function": { "arguments": "{\"q\"" } }])),
                delta(json!([{ "index": 1, "id": "b", "function": { "name": "open" } }])),
                delta(json!([{ "index": 0, "function": { "arguments": ":1}" } }])),
            ],
            vec![call("a", "find", "{\"q\":1}"), call("b", "open", "")],
        ),
        // Without an index, a piece without an id continues the last call.
        (
            vec![
                delta(json!([{ "id": "a", "function": { "name": "find", "arguments": "{" } }])),
                delta(json!([{ "function": { "arguments": "}" } }])),
                delta(json!([{ "id": "b", "function": { "name": "open", "arguments": null } }])),
            ],
            vec![call("a", "find", "{}"), call("b", "open", "")],
        ),
        // Every call at index 0.
        (
            vec![
                delta(json!([{ "index": 0, "id": "a", "function": { "name": "find", "arguments": "1" } }])),
                delta(json!([{ "index": 0, "id": "b", "function": { "name": "find", "arguments": "2" } }])),
            ],
            vec![call("a", "find", "1"), call("b", "find", "2")],
        ),
        // An index that no memory holds is only a number.
        (vec![delta(json!([{ "index": u64::MAX, "id": "a", "function": { "name": "f" } }]))], vec![call("a", "f", "")]),
    ];
    for (pieces, expected) in rows {
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(gathered(&pieces).expect("a reply").tool_calls, expected, "{pieces:?}");
    }
}

#[test]
fn actions_are_names_and_nothing_else() {
    let reply = whole(json!({ "content": "done", "actions": ["LOOK", 5, { "x": [1] }, ["y"], null, true, 0.5, "GO"] }));
    assert_eq!(reply.expect("a reply").actions, ["LOOK", "GO"]);
    assert!(whole(json!({ "content": "done", "actions": null })).expect("a reply").actions.is_empty());
}

#[test]
fn tokens_are_the_servers_or_an_estimate() {
    let usage = |usage: serde_json::Value| {
        let piece = json!({ "choices": [{ "message": { "content": "12345678" } }], "usage": usage }).to_string();
        let Usage { input, output, estimated, .. } = gathered(&[&piece]).expect("a reply").receipt.usage;
        (input, output, estimated)
    };
    let rows = [
        (json!({ "prompt_tokens": 9, "completion_tokens": 3 }), (9, 3, false)),
        (json!({ "prompt_tokens": 9.0, "completion_tokens": 0, "extra": {} }), (9, 0, false)),
        (json!({ "prompt_tokens": 9 }), (9, 2, true)),
        (json!({ "prompt_tokens": -1, "completion_tokens": null }), (6, 2, true)),
        (json!({ "prompt_tokens": u64::MAX, "completion_tokens": 1e300 }), (6, 2, true)),
        (json!(null), (6, 2, true)),
    ];
    for (written, expected) in rows {
        assert_eq!(usage(written.clone()), expected, "{written}");
    }
}

#[test]
fn cached_and_reasoning_tokens_are_parts_of_the_whole() {
    let usage = |usage: serde_json::Value| {
        let piece = json!({ "choices": [{ "message": { "content": "hi" } }], "usage": usage }).to_string();
        let receipt = gathered(&[&piece]).expect("a reply").receipt;
        let Usage { cached_input, cache_write, reasoning, .. } = receipt.usage;
        (cached_input, cache_write, reasoning, receipt.reported_cost_nanos)
    };
    let with = |input: serde_json::Value, output: serde_json::Value| {
        json!({
            "prompt_tokens": 100, "completion_tokens": 50,
            "prompt_tokens_details": input, "completion_tokens_details": output,
        })
    };
    let rows = [
        (
            with(json!({ "cached_tokens": 60, "cache_write_tokens": 30 }), json!({ "reasoning_tokens": 40 })),
            (60, 30, 40, None),
        ),
        (with(json!(null), json!(null)), (0, 0, 0, None)),
        (with(json!({ "cached_tokens": null, "audio_tokens": 0 }), json!({})), (0, 0, 0, None)),
        (
            with(json!({ "cached_tokens": 900, "cache_write_tokens": 9 }), json!({ "reasoning_tokens": 51 })),
            (100, 0, 50, None),
        ),
        (json!({ "prompt_tokens": 1, "completion_tokens": 1, "cost": 0.000_12 }), (0, 0, 0, Some(120_000))),
        (json!({ "prompt_tokens": 1, "completion_tokens": 1, "cost": -1 }), (0, 0, 0, None)),
    ];
    for (written, expected) in rows {
        assert_eq!(usage(written.clone()), expected, "{written}");
    }
    // The last numbers of a stream hold.
    let piece = |written: u64| {
        let details = json!({ "reasoning_tokens": written });
        json!({ "choices": [{ "delta": { "content": "a" } }],
                "usage": { "prompt_tokens": 5, "completion_tokens": 10 * written, "completion_tokens_details": details } })
            .to_string()
    };
    let reply = gathered(&[&piece(1), &piece(3)]).expect("a reply");
    assert_eq!((reply.receipt.usage.output, reply.receipt.usage.reasoning), (30, 3));
}

#[test]
fn why_a_reply_ended() {
    let finish = |message: serde_json::Value, reason: serde_json::Value| {
        let piece = json!({ "choices": [{ "message": message, "finish_reason": reason }] }).to_string();
        gathered(&[&piece]).expect("a reply").finish
    };
    let said = json!({ "content": "hi" });
    let rows = [
        (said.clone(), json!("stop"), Finish::Stop),
        (said.clone(), json!("length"), Finish::Length),
        (said.clone(), json!("tool_calls"), Finish::ToolCalls),
        (said.clone(), json!("content_filter"), Finish::Refused),
        (said.clone(), json!("abort"), Finish::Other),
        (said, json!(null), Finish::Other),
        (json!({ "content": null, "refusal": "I will not." }), json!("stop"), Finish::Refused),
        (json!({ "content": "hi", "refusal": null }), json!("stop"), Finish::Stop),
    ];
    for (message, reason, expected) in rows {
        assert_eq!(finish(message.clone(), reason.clone()), expected, "{message} {reason}");
    }
}

#[test]
fn reasoning_is_kept_apart_from_the_answer() {
    let piece = |delta: serde_json::Value| json!({ "choices": [{ "delta": delta }] }).to_string();
    let pieces = [
        piece(json!({ "content": "<think>" })),
        piece(json!({ "content": "Let me" })),
        piece(json!({ "content": " see.</think>\n\n" })),
        piece(json!({ "content": "Four." })),
    ];
    let reply = gathered(&pieces.each_ref().map(String::as_str)).expect("a reply");
    assert_eq!((&*reply.text, &*reply.notes[0].kind, &*reply.notes[0].text), ("Four.", "reasoning", "Let me see."));
    assert_eq!(reply.receipt.timing.first_token, Some(Duration::from_millis(40)), "of the answer");
    for field in ["reasoning_content", "reasoning"] {
        let pieces =
            [piece(json!({ field: "Hm", "content": null })), piece(json!({ field: null, "content": "Four." }))];
        let reply = gathered(&pieces.each_ref().map(String::as_str)).expect("a reply");
        assert_eq!((&*reply.text, &*reply.notes[0].text), ("Four.", "Hm"));
        assert_eq!(reply.receipt.timing.first_token, Some(Duration::from_millis(20)));
    }
}

#[test]
fn times_run_from_piece_to_piece() {
    let piece = |text: &str| json!({ "choices": [{ "delta": { "content": text } }] }).to_string();
    let pieces = [piece(""), piece("a"), piece("b"), piece(""), piece("c")];
    let reply = gathered(&pieces.each_ref().map(String::as_str)).expect("a reply");
    assert_eq!(reply.text, "abc");
    // At 20, 30 and 50 ms: the empty ones are no content.
    assert_eq!(reply.receipt.timing.first_token, Some(Duration::from_millis(20)));
    assert_eq!(reply.receipt.timing.inter_token, Some(Duration::from_millis(15)));
    assert_eq!(reply.receipt.timing.total, Duration::from_secs(1));
    assert_eq!(reply.receipt.model, "as asked");
    assert_eq!(reply.receipt.fingerprint, "");
}

#[test]
fn the_model_and_its_build_are_those_that_the_server_names_first() {
    let piece = |fingerprint: serde_json::Value| {
        let choices = json!([{ "delta": { "content": "a" } }]);
        json!({ "model": "gpt-x-2026", "system_fingerprint": fingerprint, "choices": choices }).to_string()
    };
    let pieces = [piece(json!(null)), piece(json!("fp_1")), piece(json!("fp_2"))];
    let receipt = gathered(&pieces.each_ref().map(String::as_str)).expect("a reply").receipt;
    assert_eq!((&*receipt.model, &*receipt.fingerprint), ("gpt-x-2026", "fp_1"));
}

#[test]
fn invalid_replies() {
    let rows = [
        (json!({}), "no choice in it"),
        (json!({ "choices": [] }), "no choice in it"),
        (json!({ "choices": null }), "no choice in it"),
        (json!({ "choices": [{ "finish_reason": "stop" }] }), "no choice in it"),
        (json!({ "choices": {} }), "invalid type"),
        (json!([]), ""),
        (json!({ "choices": vec![json!({}); 2_000] }), "no choice in it"),
        (json!({ "choices": [{ "delta": { "actions": vec![json!("GO"); 2_000] } }] }), "more than 1024 items"),
        (
            json!({ "choices": [{ "delta": { "tool_calls": (0..200).map(|n| json!({ "index": n })).collect::<Vec<_>>() } }] }),
            "tool calls",
        ),
        (json!({ "choices": [{ "delta": { "content": "x".repeat(MOST_BYTES + 1) } }] }), "a reply of more than"),
    ];
    for (written, expected) in rows {
        match gathered(&[&written.to_string()]) {
            Err(Trouble::Malformed(message)) => assert!(message.contains(expected), "{message}"),
            other => panic!("{other:?}"),
        }
    }
    let quota = json!({ "error": { "message": "pay", "code": "insufficient_quota" } }).to_string();
    assert_eq!(gathered(&[&quota]), Err(Trouble::Exhausted("pay".into())));
    let busy = json!({ "error": { "message": "overloaded", "code": 503 } }).to_string();
    assert_eq!(gathered(&[&busy]), Err(Trouble::Status(503, "overloaded".into())));
}

#[test]
fn depth_is_bounded() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let said = |what: &str| format!("{{\"choices\":[{{\"message\":{{{what}}}}}]}}");
        for kept in [
            format!("{{\"error\":{deep}}}"),
            said(&format!("\"tool_calls\":[{{\"function\":{{\"arguments\":{deep}}}}}]")),
        ] {
            assert!(gathered(&[&kept]).is_err(), "{open}");
        }
        // Unknown fields are skipped, which uses no stack.
        for skipped in [
            deep.clone(),
            said(&format!("\"content\":{deep}")),
            said(&format!("\"content\":\"a\",\"unknown\":{deep}")),
            said(&format!("\"content\":\"a\",\"actions\":[{deep}]")),
        ] {
            let _ = gathered(&[&skipped]);
        }
    }
}

/// JSON of the keys that the reader knows, so that random values reach every arm.
fn json_like() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|value| json!(value)),
        any::<i64>().prop_map(|value| json!(value)),
        any::<f64>().prop_map(|value| json!(value)),
        "[a-z\"\\\\\u{e9}]{0,6}".prop_map(|value| json!(value)),
    ];
    let key = prop::sample::select(vec![
        "choices",
        "message",
        "delta",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "index",
        "actions",
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "error",
        "code",
        "type",
        "text",
        "model",
        "finish_reason",
        "refusal",
    ]);
    leaf.prop_recursive(6, 60, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_panics_the_reader(pieces in prop::collection::vec(json_like(), 1..4)) {
        let pieces: Vec<String> = pieces.iter().map(ToString::to_string).collect();
        let _ = gathered(&pieces.iter().map(String::as_str).collect::<Vec<_>>());
        let said: Vec<String> = pieces.iter().map(|piece| format!("{{\"choices\":[{{\"delta\":{piece}}}]}}")).collect();
        let _ = gathered(&said.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn no_bytes_panic_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = serde_json::from_slice::<Completion<'_>>(&bytes);
        let _ = Fault::of_body(&bytes);
    }
}
