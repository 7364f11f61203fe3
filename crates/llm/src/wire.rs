//! Shared by the golden tests of dialects: a request with everything in it, answers in one piece and in every split, and
//! headers.

use ::http::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    FunctionCall, Message, MessageRole,
    chat::{Reply, Request},
    client::streamed::take_events,
    dialect::{Dialect, Manner, SchemaMode},
    gather::{Gather, Trouble},
    http::frames::{AMAZON, Frames, SSE},
};

/// A chat that the model began, with an image, a call that was answered, a tool and a schema.
pub(crate) fn request() -> Request {
    let call = FunctionCall { id: "c1".into(), name: "find".into(), arguments: r#"{"q":"bread"}"#.into() };
    Request {
        messages: vec![
            Message::system("Be brief."),
            Message::assistant("Hello!"),
            Message { images: vec!["data:image/png;base64,AAAA".into()], ..Message::user("What is this?") },
            Message { tool_calls: vec![call], ..Message::assistant("") },
            Message { tool_call_id: Some("c1".into()), ..Message::new(MessageRole::Tool, r#"{"found":2}"#) },
        ],
        temperature: Some(0.5),
        max_tokens: Some(99),
        seed: Some(u64::MAX),
        tools: vec![json!({ "type": "function", "function": {
            "name": "find", "description": "Finds things.",
            "parameters": { "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] } } })],
        schema: Some(json!({ "type": "object", "required": ["score"],
            "properties": { "score": { "type": "integer", "minimum": 0, "maximum": 5 } } })),
        ..Request::default()
    }
}

/// The lines of an answer's headers.
pub(crate) type Lines<'a> = &'a [(&'static str, &'a str)];

pub(crate) fn headers(lines: Lines<'_>) -> HeaderMap {
    let value = |value: &str| HeaderValue::from_str(value).expect("a header");
    lines.iter().map(|(name, text)| (HeaderName::from_static(name), value(text))).collect()
}

/// The body of a request, byte by byte.
pub(crate) fn body(dialect: &dyn Dialect, request: &Request, schema_mode: SchemaMode, stream: bool) -> String {
    with_params(dialect, request, schema_mode, stream, &json!({}))
}

/// The same with `params` of the settings.
pub(crate) fn with_params(
    dialect: &dyn Dialect,
    request: &Request,
    schema_mode: SchemaMode,
    stream: bool,
    params: &Value,
) -> String {
    let params = params.as_object().expect("an object");
    let manner =
        Manner { model: "m-1", stream, schema_mode, max_tokens_key: "max_tokens", params, system_role: "system" };
    String::from_utf8(dialect.body(request, manner)).expect("text")
}

/// The reply of a whole answer.
pub(crate) fn whole(dialect: &dyn Dialect, body: &str) -> Result<Reply, Trouble> {
    let at = Instant::now();
    let mut gather = Gather::default();
    gather.take(at, |gather| dialect.whole(body.as_bytes(), gather))?;
    gather.finish(&Request::default(), "asked", at, at, false)
}

/// The reply of a stream, which must be the same for any split into two pieces, and byte by byte.
pub(crate) fn streamed(dialect: &dyn Dialect, stream: &str) -> Result<Reply, Trouble> {
    split(dialect, SSE, stream.as_bytes())
}

/// The same in Amazon's binary form.
pub(crate) fn streamed_by_amazon(dialect: &dyn Dialect, stream: &[u8]) -> Result<Reply, Trouble> {
    split(dialect, AMAZON, stream)
}

fn split(dialect: &dyn Dialect, form: &str, bytes: &[u8]) -> Result<Reply, Trouble> {
    let in_pieces = |pieces: &[&[u8]]| in_pieces(dialect, form, pieces);
    let expected = in_pieces(&[bytes]);
    for at in 1..bytes.len() {
        let (first, second) = bytes.split_at(at);
        assert_eq!(in_pieces(&[first, second]), expected, "split after {at} bytes");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(in_pieces(&single), expected, "byte by byte");
    expected
}

/// What comes of a stream in these pieces.
pub(crate) fn in_pieces(dialect: &dyn Dialect, form: &str, pieces: &[&[u8]]) -> Result<Reply, Trouble> {
    let at = Instant::now();
    let (mut frames, mut gather) = (Frames::of(Some(form)), Gather::default());
    let mut over = false;
    for piece in pieces {
        frames.feed(piece);
        over = over || take_events(dialect, &mut frames, &mut gather, at)?;
    }
    frames.end();
    over = over || take_events(dialect, &mut frames, &mut gather, at)?;
    if !over && !gather.is_finished() {
        return Err(Trouble::Malformed("the stream ends before the reply does".to_owned()));
    }
    gather.finish(&Request::default(), "asked", at, at, true)
}

/// The reasoning of a reply.
pub(crate) fn reasoning(reply: &Reply) -> &str {
    reply.notes.iter().find(|note| note.kind == "reasoning").map_or("", |note| &note.text)
}

/// A reply in one line: the model, the text, the calls, why it ended, and the tokens: in, cached, written, out, reasoned.
pub(crate) fn line(reply: &Reply) -> String {
    let calls: Vec<String> =
        reply.tool_calls.iter().map(|call| format!("{}={}({})", call.id, call.name, call.arguments)).collect();
    let usage = reply.receipt.usage;
    format!(
        "{} | {} | {} | {} | {} {} {} {} {}{}",
        reply.receipt.model,
        reply.text,
        calls.join(" "),
        reply.finish.word(),
        usage.input,
        usage.cached_input,
        usage.cache_write,
        usage.output,
        usage.reasoning,
        if usage.estimated { " estimated" } else { "" }
    )
}
