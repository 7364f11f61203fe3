//! An estimate of a text's tokens, for use before a server counts them.

use serde_json::Value;

use crate::call::Request;

/// Output tokens set aside for a request that does not bound its reply.
const UNBOUNDED_REPLY: u64 = 512;

/// About four bytes of text make a token; never 0 for a text that is not empty.
pub(crate) fn tokens_of_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

/// The tokens to set aside before a call: its input and its longest reply.
pub(crate) fn reserve(request: &impl Request) -> u64 {
    tokens_of_bytes(request.input_bytes()) + request.max_output_tokens().map_or(UNBOUNDED_REPLY, u64::from)
}

pub(crate) fn json_bytes(value: &Value) -> u64 {
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
    use crate::{call::Request as _, chat::Request, message::Message};

    #[test]
    fn everything_the_model_reads_counts() {
        let mut request = Request { messages: vec![Message::user("12345678")], ..Request::default() };
        assert_eq!(request.input_bytes(), 24);
        assert_eq!(reserve(&request), 6 + 512);
        request.max_tokens = Some(10);
        assert_eq!(reserve(&request), 16);
        request.tools = vec![json!({"a": 1})];
        request.schema = Some(json!({}));
        assert_eq!(request.input_bytes(), 24 + 7 + 2);
        assert_eq!(tokens_of_bytes(0), 0);
        assert_eq!(tokens_of_bytes(1), 1);
    }
}
