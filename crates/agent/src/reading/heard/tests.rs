//! Answers of many shapes, and the replies that they give.

use std::time::Duration;

use serde_json::json;

use super::*;

fn reading(value: Value) -> Reading {
    serde_json::from_value(value).expect("a reading")
}

fn whole(reading_value: Value, body: &str) -> Result<Response, String> {
    let reading = reading(reading_value);
    let mut heard = Heard::new(&reading);
    heard.whole(body.as_bytes()).map_err(|trouble| trouble.0)?;
    let now = Instant::now();
    Ok(heard.finish(now, now, false))
}

#[test]
fn texts_of_whole_answers() {
    let rows = [
        (json!({}), "hello", Ok("hello")),
        (json!({}), "\"hello\"", Ok("hello")),
        (json!({}), "42", Ok("42")),
        (json!({}), "{\"a\":1}", Err("it is JSON, and the agent's settings")),
        (json!({}), "  ", Err("the body is empty")),
        (json!({ "text": "$.a.b" }), r#"{"a":{"b":"hi"}}"#, Ok("hi")),
        (json!({ "text": "$.a" }), r#"{"a":""}"#, Ok("")),
        (json!({ "text": "$.a" }), r#"{"a":7}"#, Ok("7")),
        // An explicitly empty answer, which the caller reports as such.
        (json!({ "text": "$.a" }), r#"{"a":null}"#, Ok("")),
        (json!({ "text": "$[*].text" }), "[]", Ok("")),
        (json!({ "text": "$.a", "tool_calls": "$.c" }), r#"{"a":null,"c":["f"]}"#, Ok("")),
        (json!({ "text": "$.a" }), r#"{"a":["x",null,"y"]}"#, Ok("x\ny")),
        (
            json!({ "text": "$.a" }),
            r#"{"a":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"x"},{"type":"tool_use","id":"1"}]}"#,
            Ok("x"),
        ),
        (json!({ "text": ["$.a", "$.b"] }), r#"{"b":"second"}"#, Ok("second")),
        (
            json!({ "text": { "path": "$.a", "when": { "$.ok": true } } }),
            r#"{"a":"x","ok":false}"#,
            Err("nothing at $.a"),
        ),
        (json!({ "text": "$.a" }), r#"{"b":1}"#, Err("nothing at $.a")),
        (json!({ "text": "$.a" }), r#"{"a":{}}"#, Err("the value at $.a is an object")),
        (json!({ "text": "$.a" }), "<html>", Err("it is not JSON")),
        (json!({ "text": "$.m[*].t" }), r#"{"m":[{"t":"a"},{"t":"b"}]}"#, Ok("a\nb")),
        (json!({ "text": "$.m[?@.by=='bot'].t" }), r#"{"m":[{"by":"me","t":"a"},{"by":"bot","t":"b"}]}"#, Ok("b")),
        (json!({ "delta": "$.d[*]" }), r#"{"d":["a","b"]}"#, Ok("ab")),
        (json!({ "text": "$.a", "error": "$.error" }), r#"{"a":"x","error":"sold out"}"#, Err("an error: sold out")),
        (json!({ "text": "$.a", "error": "$.error" }), r#"{"a":"x","error":null}"#, Ok("x")),
        (json!({ "text": "$.a", "error": "$.error" }), r#"{"a":"x","error":false}"#, Ok("x")),
        (json!({ "text": "$.a", "error": "$.error" }), r#"{"a":"x","error":""}"#, Ok("x")),
    ];
    for (reading, body, expected) in rows {
        match (whole(reading, body), expected) {
            (Ok(reply), Ok(text)) => assert_eq!(reply.text, text, "{body}"),
            (Err(message), Err(says)) => assert!(message.contains(says), "{body}: {message}"),
            (found, _) => panic!("{body}: {found:?}"),
        }
    }
    let long = format!("\"{}\"", "x".repeat(MOST_BYTES + 1));
    assert!(whole(json!({}), &long).is_err_and(|message| message.contains("a reply of more than")));
}

#[test]
fn tool_calls_actions_and_the_other_parts() {
    let body = json!({
        "text": "done",
        "calls": [
            { "id": "c1", "type": "function", "function": { "name": "find", "arguments": "{\"q\":1}" } },
            { "tool": "open", "args": { "n": 2 }, "result": { "ok": true } },
            "close",
            null,
        ],
        "actions": ["LOOK", { "name": "GO" }, 5],
        "session": 17,
        "usage": { "in": 9, "out": 3 },
    });
    let paths = json!({
        "text": "$.text", "tool_calls": "$.calls", "actions": "$.actions", "session": "$.session",
        "input_tokens": "$.usage.in", "output_tokens": "$.usage.out",
    });
    let reading = reading(paths);
    let mut heard = Heard::new(&reading);
    heard.whole(body.to_string().as_bytes()).expect("a reply");
    assert_eq!(heard.session.as_deref(), Some("17"));
    let now = Instant::now();
    let reply = heard.finish(now, now, false);
    let call = |id: &str, name: &str, arguments: &str, result: Option<&str>| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        result: result.map(str::to_owned),
    };
    assert_eq!(
        reply.tool_calls,
        [
            call("c1", "find", "{\"q\":1}", None),
            call("", "open", "{\"n\":2}", Some("{\"ok\":true}")),
            call("", "close", "{}", None)
        ]
    );
    assert_eq!(reply.actions, ["LOOK", "GO"]);
    assert_eq!((reply.receipt.usage.input, reply.receipt.usage.output), (9, 3));
    assert!(whole(json!({ "text": "$.t", "tool_calls": "$.c" }), r#"{"t":"a","c":[{}]}"#).is_err());
}

#[test]
fn streams_are_timed_by_their_pieces() {
    let reading = reading(json!({ "delta": "$.d", "text": "$.text", "done": "$.over", "session": "$.session" }));
    let mut heard = Heard::new(&reading);
    let sent = Instant::now();
    let at = |ms: u64| sent + Duration::from_millis(ms);
    for (event, ms) in [(r#"{"session":"s"}"#, 5), (r#"{"d":"a"}"#, 10), (r#"{"d":""}"#, 15), (r#"{"d":"b"}"#, 30)] {
        assert_eq!(heard.event("", event.as_bytes(), at(ms)), Ok(false));
    }
    assert!(heard.ended(false).is_err(), "it has not said that it is over");
    assert_eq!(heard.event("", br#"{"over":true,"text":"ab!"}"#, at(40)), Ok(true));
    let reply = heard.finish(sent, at(41), true);
    assert_eq!(reply.text, "ab!");
    assert_eq!(reply.receipt.timing.first_token, Some(Duration::from_millis(10)));
    assert_eq!(reply.receipt.timing.inter_token, Some(Duration::from_millis(15)));
    assert_eq!(reply.receipt.timing.total, Duration::from_millis(41));
}

#[test]
fn a_stream_of_plain_texts_ends_with_the_body() {
    let reading = Reading::default();
    let mut heard = Heard::new(&reading);
    let now = Instant::now();
    assert!(heard.ended(false).is_err(), "nothing came");
    assert_eq!(heard.event("", b"Hel", now), Ok(false));
    assert_eq!(heard.event("", b"lo", now), Ok(false));
    assert_eq!(heard.event("", b" [DONE] ", now), Ok(true));
    assert_eq!((heard.ended(true), heard.text.as_str()), (Ok(()), "Hello"));
}

/// The settings, the events with their names, and the reply: its text, its messages with the calls before each, its calls.
#[test]
fn several_kinds_of_events_in_one_stream() {
    let agui = json!({
        "delta": { "path": "$.delta", "when": { "$.type": "TEXT" } },
        "tool_calls": { "when": { "$.type": "CALL" } },
        "tool_results": { "when": { "$.type": "RESULT" } },
        "done": { "when": { "$.type": "FINISHED" } },
    });
    let named = json!({
        "delta": { "path": "$.delta", "event": "words", "when": { "$.kind": ["final", "part"] } },
        "tool_calls": { "event": "tool" },
        "done": { "event": "end" },
    });
    let rows = [
        (
            &agui,
            &[
                ("", r#"{"type":"TEXT","delta":"Let me"}"#),
                ("", r#"{"type":"TEXT","delta":" look."}"#),
                ("", r#"{"type":"CALL","toolCallId":"c","toolCallName":"find"}"#),
                ("", r#"{"type":"ARGS","delta":"{\"id\":7}"}"#),
                ("", r#"{"type":"RESULT","toolCallId":"c","content":"shipped"}"#),
                ("", r#"{"type":"TEXT","delta":"It is "}"#),
                ("", r#"{"type":"TEXT","delta":"shipped."}"#),
                ("", r#"{"type":"FINISHED"}"#),
            ][..],
            "It is shipped.",
            "0 Let me look.|1 It is shipped.",
            "find=shipped",
        ),
        (
            &named,
            &[
                ("ping", "not JSON"),
                ("tool", r#"{"name":"find","output":null}"#),
                ("words", r#"{"kind":"thought","delta":"hm"}"#),
                ("words", r#"{"kind":"part","delta":"It is "}"#),
                ("words", r#"{"kind":"part","delta":null}"#),
                ("words", r#"{"kind":"final","delta":[{"type":"text","text":"shi"},{"type":"text","text":"pped"}]}"#),
                ("end", "{}"),
            ],
            "It is shipped",
            "",
            "find=?",
        ),
        // No text follows the call: the text before it is the reply.
        (
            &agui,
            &[
                ("", r#"{"type":"TEXT","delta":"Bye."}"#),
                ("", r#"{"type":"CALL","toolCallName":"hang_up"}"#),
                ("", r#"{"type":"FINISHED"}"#),
            ],
            "Bye.",
            "",
            "hang_up=?",
        ),
    ];
    for (settings, events, text, messages, calls) in rows {
        let reading = reading(settings.clone());
        let mut heard = Heard::new(&reading);
        let sent = Instant::now();
        let (last, before) = events.split_last().expect("events");
        for (index, (name, data)) in before.iter().enumerate() {
            let came = sent + Duration::from_millis(10 * (index as u64 + 1));
            assert_eq!(heard.event(name, data.as_bytes(), came), Ok(false), "{data}");
        }
        assert_eq!(heard.event(last.0, last.1.as_bytes(), sent + Duration::from_secs(1)), Ok(true), "{last:?}");
        let reply = heard.finish(sent, sent + Duration::from_secs(1), true);
        assert_eq!(reply.text, text);
        let said = reply.messages.iter().map(|said| format!("{} {}", said.tool_calls_before, said.text));
        assert_eq!(said.collect::<Vec<_>>().join("|"), messages);
        let made =
            reply.tool_calls.iter().map(|call| format!("{}={}", call.name, call.result.as_deref().unwrap_or("?")));
        assert_eq!(made.collect::<Vec<_>>().join(" "), calls);
        let first_words =
            events.iter().position(|(_, data)| ["TEXT", "\"part\""].iter().any(|kind| data.contains(kind)));
        let expected = Duration::from_millis(10 * (first_words.expect("words") as u64 + 1));
        assert_eq!(
            reply.receipt.timing.first_token,
            Some(expected),
            "neither a call nor a thought is a token of the answer"
        );
    }
}

/// A server that closes the stream, and one whose connection breaks.
#[test]
fn a_stream_may_end_without_a_last_event() {
    let now = Instant::now();
    for (settings, ends) in [
        (json!({ "delta": "$.d" }), true),
        (json!({ "delta": "$.d", "done": "$.over" }), false),
        (json!({ "delta": "$.d", "done": { "event": "end" } }), false),
    ] {
        let reading = reading(settings.clone());
        let mut heard = Heard::new(&reading);
        assert_eq!(heard.event("", br#"{"d":"Hello","over":""}"#, now), Ok(false));
        let ended = heard.ended(false).map_err(|trouble| trouble.0);
        assert_eq!(ended.is_ok(), ends, "{settings}: {ended:?}");
        assert!(ended.is_ok() || ended.is_err_and(|message| message.contains("without `reply.done`")));
    }
}

#[test]
fn every_message_of_a_reply_is_kept() {
    let rows = [
        // One message is no list.
        (json!({ "text": "$.t", "done": "$.end" }), &[r#"{"t":"a"}"#][..], "a", ""),
        (json!({ "text": "$.t", "done": "$.end" }), &[r#"{"t":"Wait."}"#, r#"{"t":"Done."}"#], "Done.", "Wait.|Done."),
        // As far as it has come: one message.
        (json!({ "text": "$.t", "done": "$.end" }), &[r#"{"t":"Do"}"#, r#"{"t":"Done."}"#], "Done.", ""),
        (json!({ "text": "$.t[*]", "done": "$.end" }), &[r#"{"t":["Wait.","Done."]}"#], "Wait.\nDone.", "Wait.|Done."),
        // The whole text replaces its pieces.
        (
            json!({ "delta": "$.d", "text": "$.t" }),
            &[r#"{"d":"Do"}"#, r#"{"d":"ne."}"#, r#"{"t":"Done."}"#],
            "Done.",
            "",
        ),
        (
            json!({ "delta": "$.d", "text": "$.t" }),
            &[r#"{"d":"Wa"}"#, r#"{"t":"Wait."}"#, r#"{"d":"Done."}"#, r#"{"t":"Done."}"#],
            "Done.",
            "Wait.|Done.",
        ),
        (
            json!({ "delta": "$.d", "text": "$.t" }),
            &[r#"{"t":"Wait."}"#, r#"{"d":"Done."}"#],
            "Wait.Done.",
            "Wait.|Done.",
        ),
    ];
    for (reading_value, events, text, messages) in rows {
        let reading = reading(reading_value);
        let mut heard = Heard::new(&reading);
        let now = Instant::now();
        for event in events {
            heard.event("", event.as_bytes(), now).unwrap();
        }
        let reply = heard.finish(now, now, false);
        let said: Vec<&str> = reply.messages.iter().map(|said| said.text.as_str()).collect();
        assert_eq!((reply.text.as_str(), said.join("|").as_str()), (text, messages), "{events:?}");
    }
    let whole = whole(json!({ "text": "$.m[*].t" }), r#"{"m":[{"t":"a"},{"t":"b"}]}"#).unwrap();
    assert_eq!(whole.messages.len(), 2);
}

/// Rows of docs/limits.md.
#[test]
fn what_is_heard_has_bounds() {
    let written = json!({ "text": "$.text", "tool_calls": "$.calls", "actions": "$.actions", "session": "$.session" });
    let reading = reading(written);
    let until_trouble = |mut events: Box<dyn Iterator<Item = Value>>| {
        let mut heard = Heard::new(&reading);
        let now = Instant::now();
        let trouble = events.find_map(|event| heard.event("", event.to_string().as_bytes(), now).err());
        (trouble.map(|trouble| trouble.0).unwrap_or_default(), heard.actions.len())
    };
    let forever = |event: Value| until_trouble(Box::new(std::iter::repeat_n(event, 100_000))).0;
    let long = "x".repeat(900_000);
    assert_eq!(forever(json!({ "other": long })), "events of more than 67108864 bytes for one reply");
    let calls = forever(json!({ "calls": [{ "name": "a", "result": long }] }));
    assert_eq!(calls, "tool calls and actions of more than 1048576 bytes");
    for call in [json!({ "name": long }), json!({ "name": "a", "id": long })] {
        let named = forever(json!({ "calls": [call] }));
        assert_eq!(named, "a tool call whose name or id has more than 1024 bytes");
    }
    assert_eq!(forever(json!({ "actions": [long] })), "tool calls and actions of more than 1048576 bytes");
    assert_eq!(forever(json!({ "calls": ["a", "b"] })), "more than 128 tool calls");
    assert_eq!(forever(json!({ "session": "x".repeat(5_000) })), "a session id of more than 4096 bytes");
    assert_eq!(forever(json!({ "text": "", "calls": vec![1; 60_000] })), "JSON of more than 50000 values");
    let (trouble, actions) = until_trouble(Box::new(std::iter::repeat_n(json!({ "actions": ["a"] }), 1_000)));
    assert_eq!((trouble.as_str(), actions), ("", 128), "more of them are left out");
}

/// A text, the number of messages, and milliseconds between tokens.
type Pieces = (&'static str, usize, Option<u128>);

#[test]
fn pieces_are_joined_as_the_settings_say() {
    let streamed = |settings: Value, events: &[&str]| {
        let reading = reading(settings);
        let mut heard = Heard::new(&reading);
        let sent = Instant::now();
        for (index, event) in (1_u32..).zip(events) {
            heard.event("", event.as_bytes(), sent + Duration::from_millis(10) * index).expect("an event");
        }
        heard.ended(false).expect("a reply");
        let reply = heard.finish(sent, sent + Duration::from_millis(90), true);
        (reply.text, reply.messages.len(), reply.receipt.timing.inter_token.map(|gap| gap.as_millis()))
    };
    let call = r#"{"c":{"id":"1","name":"find"}}"#;
    let rows: [(Value, &[&str], Pieces); 5] = [
        (json!({ "delta": "$.d" }), &[r#"{"d":"a"}"#, r#"{"d":"b"}"#], ("ab", 0, Some(10))),
        (
            json!({ "delta": "$.d", "join": "\n" }),
            &[r#"{"d":"a"}"#, r#"{"d":""}"#, r#"{"d":"b"}"#],
            ("a\nb", 0, Some(20)),
        ),
        // The whole text so far: said again it is no news, and a correction replaces it.
        (
            json!({ "delta": "$.d", "cumulative": true }),
            &[r#"{"d":"Ja"}"#, r#"{"d":"Ja"}"#, r#"{"d":"Jane"}"#, r#"{"d":"Jan, yes"}"#],
            ("Jan, yes", 0, Some(15)),
        ),
        // After a tool call, another message begins.
        (
            json!({ "delta": "$.d", "cumulative": true, "tool_calls": "$.c" }),
            &[r#"{"d":"Let"}"#, r#"{"d":"Let me see."}"#, call, r#"{"d":"It"}"#, r#"{"d":"It is 4."}"#],
            ("It is 4.", 2, None),
        ),
        (
            json!({ "delta": "$.d", "join": " ", "tool_calls": "$.c" }),
            &[r#"{"d":"Let"}"#, r#"{"d":"me see."}"#, call, r#"{"d":"It"}"#, r#"{"d":"is 4."}"#],
            ("It is 4.", 2, None),
        ),
    ];
    for (settings, events, (text, messages, gap)) in rows {
        let (said, several, between) = streamed(settings.clone(), events);
        assert_eq!((said.as_str(), several), (text, messages), "{settings}");
        assert!(gap.is_none() || gap == between, "{settings} {between:?}");
    }
    assert_eq!(
        whole(json!({ "delta": "$[*].d", "join": "-" }), r#"[{"d":"a"},{"d":"b"}]"#).map(|reply| reply.text),
        Ok("a-b".to_owned())
    );
}

#[test]
fn values_are_remembered_by_name() {
    let settings = json!({
        "delta": "$.d", "remember": { "task": "$.task.id", "state": { "path": "$.state", "event": "state" }, "none": "$.no" },
    });
    let reading = reading(settings);
    let mut heard = Heard::new(&reading);
    let at = Instant::now();
    for (name, event) in [
        ("", r#"{"d":"a","task":{"id":1},"state":"not here"}"#),
        ("state", r#"{"state":{"step":2}}"#),
        ("", r#"{"task":{"id":"t-2"}}"#),
    ] {
        heard.event(name, event.as_bytes(), at).expect("an event");
    }
    assert_eq!(Value::Object(heard.remembered.clone()), json!({ "task": "t-2", "state": { "step": 2 } }));
    let long = json!({ "task": { "id": "x".repeat(5_000) } }).to_string();
    let error = heard.event("", long.as_bytes(), at).expect_err("too long");
    assert!(error.0.contains("remember as task"), "{error}");
}
