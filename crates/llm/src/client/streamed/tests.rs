use proptest::prelude::*;

use super::*;
use crate::{http::frames::SSE, openai};

/// The result of a stream in these pieces.
fn streamed(pieces: &[&[u8]]) -> (Result<bool, Trouble>, String) {
    let (mut frames, mut gather) = (Frames::of(Some(SSE)), Gather::default());
    let at = Instant::now();
    for piece in pieces {
        frames.feed(piece);
        match take_events(&openai::Chat, &mut frames, &mut gather, at) {
            Ok(false) => {}
            over => return (over, gather.text),
        }
    }
    frames.end();
    let over = take_events(&openai::Chat, &mut frames, &mut gather, at);
    (over, gather.text)
}

proptest! {
    #[test]
    fn a_stream_means_the_same_in_any_split(
        lines in prop::collection::vec(prop_oneof![
            4 => Just("data: {\"choices\":[{\"delta\":{\"content\":\"h\u{e9}\"}}]}\n\n"),
            2 => Just("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\r\n\r\n"),
            1 => Just("data: [DONE]\n\n"),
            1 => Just(": ping\n\n"),
            1 => Just("data: {\"cho"),
            1 => Just("data: {}\n"),
        ], 0..12),
        size in 1_usize..40,
    ) {
        let text = lines.concat();
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
        prop_assert_eq!(streamed(&pieces), streamed(&[text.as_bytes()]));
    }

    #[test]
    fn no_bytes_panic_the_stream(bytes in prop::collection::vec(any::<u8>(), 0..300), size in 1_usize..40) {
        let _ = streamed(&bytes.chunks(size).collect::<Vec<_>>());
        let events = [b"data: ", &*bytes, b"\n\n"].concat();
        let _ = streamed(&events.chunks(size).collect::<Vec<_>>());
    }
}
