//! The headers that describe a call: an agent under test may log them, and the mock server uses them.

use std::{io::Write as _, ops::Range};

use ::http::header::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;

use crate::context::{Context, Trace};

/// The role of the agent under test.
pub(crate) const AGENT: &str = "agent";

/// The same for every try of a call, so that a server can recognise a repeated one.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub const ROLE: HeaderName = HeaderName::from_static("x-gabfest-role");
pub const RUN: HeaderName = HeaderName::from_static("x-gabfest-run");
pub const SCENARIO: HeaderName = HeaderName::from_static("x-gabfest-scenario");
pub const PERSONA: HeaderName = HeaderName::from_static("x-gabfest-persona");
pub const CONVERSATION: HeaderName = HeaderName::from_static("x-gabfest-conversation");
/// The same in every run and in every attempt, unlike the conversation's id.
pub const TRIAL: HeaderName = HeaderName::from_static("x-gabfest-trial");
pub const TURN: HeaderName = HeaderName::from_static("x-gabfest-turn");
pub const CALL: HeaderName = HeaderName::from_static("x-gabfest-call");
/// From 0, and not sent with the first one.
pub const TRY: HeaderName = HeaderName::from_static("x-gabfest-try");

/// The address of the conversation's tools, which the scenario's mocks answer.
pub const TOOLS_URL: HeaderName = HeaderName::from_static("x-gabfest-tools-url");
pub const MCP_URL: HeaderName = HeaderName::from_static("x-gabfest-mcp-url");

/// W3C Trace Context: by it an agent's own traces can be found.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The limit of a name, in bytes before encoding: servers refuse long headers.
const MOST_BYTES: usize = 512;

/// Gives the headers that [`write`] sends with most calls their places. Copies of such headers need not grow.
pub(crate) fn reserve(headers: &mut HeaderMap) {
    for name in [IDEMPOTENCY_KEY, ROLE, RUN, SCENARIO, CONVERSATION, TRIAL, TURN, CALL, TRACEPARENT] {
        headers.insert(name, HeaderValue::from_static(""));
    }
}

/// How many headers [`write`] may add.
const MOST_HEADERS: usize = 13;
/// Room for their values together. Longer ones make it grow.
const USUAL_BYTES: usize = 512;

/// Adds the headers of a call; empty values are not sent.
pub fn write(context: &Context, headers: &mut HeaderMap) {
    let mut values = Values::default();
    let texts = [
        (IDEMPOTENCY_KEY, &context.idempotency_key),
        (ROLE, &context.role),
        (RUN, &context.run),
        (SCENARIO, &context.scenario),
        (PERSONA, &context.persona),
        (CONVERSATION, &context.conversation),
        (TRIAL, &context.trial),
        (TOOLS_URL, &context.tools_url),
        (MCP_URL, &context.mcp_url),
    ];
    for (name, text) in texts {
        if text.is_empty() {
            headers.remove(name);
        } else {
            values.add(name, |bytes| encode(text, bytes));
        }
    }
    values.add(TURN, |bytes| decimal(context.turn, bytes));
    values.add(CALL, |bytes| decimal(context.call, bytes));
    if context.try_number > 0 {
        values.add(TRY, |bytes| decimal(context.try_number, bytes));
    }
    match context.trace {
        Some(trace) => values.add(TRACEPARENT, |bytes| append_traceparent(trace, bytes)),
        None => _ = headers.remove(TRACEPARENT),
    }
    values.move_into(headers);
}

/// The values of several headers in one allocation.
struct Values {
    bytes: Vec<u8>,
    places: Vec<(HeaderName, Range<usize>)>,
}

impl Default for Values {
    fn default() -> Self {
        Self { bytes: Vec::with_capacity(USUAL_BYTES), places: Vec::with_capacity(MOST_HEADERS) }
    }
}

impl Values {
    /// `append` adds bytes that a header may have.
    fn add(&mut self, name: HeaderName, append: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        append(&mut self.bytes);
        self.places.push((name, start..self.bytes.len()));
    }

    fn move_into(self, headers: &mut HeaderMap) {
        let bytes = Bytes::from(self.bytes);
        for (name, place) in self.places {
            let value = HeaderValue::from_maybe_shared(bytes.slice(place));
            headers.insert(name, value.expect("printable ASCII is a header"));
        }
    }
}

fn decimal(number: u32, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// A place in a trace as a header value.
#[must_use]
pub fn traceparent(trace: Trace) -> String {
    let mut bytes = Vec::new();
    append_traceparent(trace, &mut bytes);
    String::from_utf8(bytes).expect("digits and hyphens are text")
}

fn append_traceparent(trace: Trace, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(b"00-");
    bytes.extend_from_slice(const_hex::Buffer::<16>::new().format(&trace.id.to_be_bytes()).as_bytes());
    bytes.push(b'-');
    bytes.extend_from_slice(const_hex::Buffer::<8>::new().format(&trace.span.to_be_bytes()).as_bytes());
    bytes.extend_from_slice(if trace.sampled { b"-01" } else { b"-00" });
}

fn read_traceparent(text: &str) -> Option<Trace> {
    let mut parts = text.split('-').skip(1);
    let id = u128::from_str_radix(parts.next()?, 16).ok()?;
    let span = u64::from_str_radix(parts.next()?, 16).ok()?;
    let flags = u8::from_str_radix(parts.next()?, 16).ok()?;
    Some(Trace { id, span, sampled: flags & 1 == 1 })
}

/// Whether gabfest writes this header itself.
pub(super) fn is_ours(name: &HeaderName) -> bool {
    *name == IDEMPOTENCY_KEY || *name == TRACEPARENT || name.as_str().starts_with("x-gabfest-")
}

/// Reads the headers of [`write()`]; missing or unreadable values are empty.
#[must_use]
pub fn read(headers: &HeaderMap) -> Context {
    let text = |name| headers.get(name).map(decode).unwrap_or_default();
    let number = |name| text(name).parse::<u32>().unwrap_or_default();
    Context {
        role: text(ROLE),
        run: text(RUN),
        scenario: text(SCENARIO),
        persona: text(PERSONA),
        conversation: text(CONVERSATION),
        trial: text(TRIAL),
        attempt: 0,
        case: String::new(),
        turn: number(TURN),
        call: number(CALL),
        idempotency_key: text(IDEMPOTENCY_KEY),
        try_number: number(TRY),
        tools_url: text(TOOLS_URL),
        mcp_url: text(MCP_URL),
        vars: None,
        trace: read_traceparent(&text(TRACEPARENT)),
        cue: None,
    }
}

/// Percent-encodes everything except printable ASCII, and the percent sign.
fn encode(text: &str, bytes: &mut Vec<u8>) {
    let text = &text[..text.floor_char_boundary(MOST_BYTES)];
    if text.bytes().all(is_plain) {
        return bytes.extend_from_slice(text.as_bytes());
    }
    for byte in text.bytes() {
        if is_plain(byte) {
            bytes.push(byte);
        } else {
            write!(bytes, "%{byte:02X}").expect("a vector takes all that is written");
        }
    }
}

fn decode(value: &HeaderValue) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.get(..2)).flatten();
        let byte = escaped.and_then(|digits| Some(hex(digits[0])? << 4 | hex(digits[1])?));
        rest = if byte.is_some() { &after[2..] } else { after };
        bytes.push(byte.unwrap_or(first));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// A space stays as it is: headers lose it only at their ends, where names have none.
fn is_plain(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte) && byte != b'%'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn context(text: &str) -> Context {
        Context {
            role: "judge".into(),
            run: "r1".into(),
            scenario: text.into(),
            persona: text.into(),
            conversation: "r1-t-1-1".into(),
            trial: "t".into(),
            attempt: 0,
            case: String::new(),
            turn: 3,
            call: 1,
            idempotency_key: "r1/c/3/1".into(),
            try_number: 2,
            tools_url: "http://127.0.0.1:1/t/x/tools".into(),
            mcp_url: String::new(),
            vars: None,
            trace: Some(Trace { id: 0xabc, span: 0xdef, sampled: text.len().is_multiple_of(2) }),
            cue: None,
        }
    }

    #[test]
    fn names_travel_whole() {
        for text in ["plain", "with space", "100 %", "Zoë", "退款", "%41", "line\nbreak", ""] {
            let mut headers = HeaderMap::new();
            write(&context(text), &mut headers);
            assert!(headers.values().all(|value| value.to_str().is_ok()), "{headers:?}");
            assert_eq!(read(&headers), context(text));
        }
    }

    #[test]
    fn a_trace_header_follows_the_standard() {
        for (sampled, expected) in [
            (true, "00-0000000000000000000000000000002a-0000000000000007-01"),
            (false, "00-0000000000000000000000000000002a-0000000000000007-00"),
        ] {
            let trace = Trace { id: 42, span: 7, sampled };
            assert_eq!(traceparent(trace), expected);
            assert_eq!(read_traceparent(expected), Some(trace));
        }
        for text in ["", "00", "00-xyz-1-01", "00-1-2"] {
            assert_eq!(read_traceparent(text), None, "{text}");
        }
        let mut headers = HeaderMap::new();
        write(&Context { trace: None, ..context("a") }, &mut headers);
        assert!(!headers.contains_key(TRACEPARENT));
    }

    #[test]
    fn a_reserved_place_without_a_value_is_not_sent() {
        let mut places = HeaderMap::new();
        reserve(&mut places);
        for context in [context("a"), Context { trace: None, ..context("") }, Context::default()] {
            let (mut kept, mut new) = (places.clone(), HeaderMap::new());
            write(&context, &mut kept);
            write(&context, &mut new);
            assert_eq!(kept, new);
        }
    }

    #[test]
    fn a_long_name_is_cut_at_a_letter() {
        let mut headers = HeaderMap::new();
        write(&context(&"é".repeat(9_999)), &mut headers);
        assert_eq!(read(&headers).scenario, "é".repeat(256));
    }

    proptest! {
        #[test]
        fn any_header_can_be_read(bytes in proptest::collection::vec(32_u8..=255, 0..60)) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let _ = decode(&value);
            }
        }
    }
}
