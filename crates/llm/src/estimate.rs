//! An estimate of a text's tokens, for use before a server counts them.

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
