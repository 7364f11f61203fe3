//! An estimate of a text's tokens, for use before a server counts them.

use crate::{call::Request, chat};

/// Output tokens set aside for a request that does not bound its reply.
const UNBOUNDED_REPLY: u64 = 512;
/// For text in Chinese or Japanese, where a token is a character. English has four bytes a token.
const BYTES_OF_SHORT_TOKEN: u64 = 3;
/// Providers scale images down to about this many.
const TOKENS_OF_IMAGE: u64 = 1_000;
/// The bytes of text that take as much of a context window as one image.
pub const BYTES_OF_IMAGE: u64 = TOKENS_OF_IMAGE * BYTES_OF_SHORT_TOKEN;

/// About four bytes of text make a token; never 0 for a text that is not empty.
pub(crate) fn tokens_of_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

/// The tokens of input and of the longest reply, to set aside before a call.
pub(crate) fn reserve(request: &impl Request) -> (u64, u64) {
    (tokens_of_bytes(request.input_bytes()), request.max_output_tokens().map_or(UNBOUNDED_REPLY, u64::from))
}

/// The bytes of text that fit into this many tokens of any language: a tokenizer makes one token of three bytes or more.
pub(crate) fn bytes_of_tokens(tokens: u64) -> u64 {
    tokens.saturating_mul(BYTES_OF_SHORT_TOKEN)
}

/// The most tokens that a model reads of a request, for its context window.
pub(crate) fn most_input(request: &chat::Request) -> u64 {
    let images = request.messages.iter().flat_map(|message| &message.images);
    let (count, bytes) = images.fold((0, 0), |(count, bytes), image| (count + 1, bytes + image.len() as u64));
    let text = request.input_bytes().saturating_sub(bytes);
    text.div_ceil(BYTES_OF_SHORT_TOKEN) + count * TOKENS_OF_IMAGE
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{call::Request as _, chat::Request, message::Message};

    #[test]
    fn everything_the_model_reads_counts() {
        let mut request: Request = Request { messages: vec![Message::user("12345678")], ..Request::default() };
        assert_eq!(request.input_bytes(), 24);
        assert_eq!(reserve(&request), (6, 512));
        request.max_tokens = Some(10);
        assert_eq!(reserve(&request), (6, 10));
        request.tools = vec![json!({"a": 1})];
        request.schema = Some(json!({}));
        assert_eq!(request.input_bytes(), 24 + 7 + 2);
        assert_eq!(tokens_of_bytes(0), 0);
        assert_eq!(tokens_of_bytes(1), 1);
    }
}
