//! How many tokens a text is likely to be, where nobody has counted them yet.

use serde_json::Value;

use crate::Request;

/// Output tokens set aside for a request that does not bound its reply.
const UNBOUNDED_REPLY: u64 = 512;

/// What a message costs beside its text: its role and the marks round it.
const MESSAGE_OVERHEAD_BYTES: u64 = 16;

/// About four bytes of text make a token; never 0 for a text that is there.
pub(crate) fn tokens_of_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

/// The bytes of a request that a model reads: messages, tools and the schema.
pub(crate) fn request_bytes(request: &Request) -> u64 {
    let messages: u64 = request
        .messages
        .iter()
        .map(|message| {
            let calls: usize = message.tool_calls.iter().map(|call| call.name.len() + call.arguments.len()).sum();
            let images: usize = message.images.iter().map(String::len).sum();
            MESSAGE_OVERHEAD_BYTES + (message.content.len() + calls + images) as u64
        })
        .sum();
    let tools: u64 = request.tools.iter().map(json_bytes).sum();
    messages + tools + request.schema.as_ref().map_or(0, json_bytes)
}

/// The tokens to set aside before a call: what is asked and the longest reply.
pub(crate) fn reserve(request: &Request) -> u64 {
    tokens_of_bytes(request_bytes(request)) + request.max_tokens.map_or(UNBOUNDED_REPLY, u64::from)
}

fn json_bytes(value: &Value) -> u64 {
    let mut count = Count(0);
    // A counter never fails to take bytes, and what cannot be written has no bytes.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

struct Count(u64);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Message;

    #[test]
    fn everything_the_model_reads_counts() {
        let mut request = Request { messages: vec![Message::user("12345678")], ..Request::default() };
        assert_eq!(request_bytes(&request), 24);
        assert_eq!(reserve(&request), 6 + 512);
        request.max_tokens = Some(10);
        assert_eq!(reserve(&request), 16);
        request.tools = vec![json!({"a": 1})];
        request.schema = Some(json!({}));
        assert_eq!(request_bytes(&request), 24 + 7 + 2);
        assert_eq!(tokens_of_bytes(0), 0);
        assert_eq!(tokens_of_bytes(1), 1);
    }
}
