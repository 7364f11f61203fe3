//! Reads arbitrary bytes as stored turns: as frames, and as segments.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(piece) = store::fuzzing::piece(bytes) {
        proto::fuzzing::segment(&piece);
    }
    proto::fuzzing::segment(&store::fuzzing::stored(bytes));
});
