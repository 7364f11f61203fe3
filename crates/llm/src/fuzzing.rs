//! Answers of servers as a fuzzer makes them: as a stream, whole and in two pieces, and as one body.

use crate::{
    anthropic::Messages,
    bedrock::Converse,
    dialect::Dialect,
    gather::Gather,
    gemini::GenerateContent,
    http::{
        eventstream,
        frames::{AMAZON, SSE},
    },
    json, openai,
    responses::Responses,
    wire,
};

/// The first byte of an input. `b`: each line is an event, its type before its data. `B`: Amazon's binary form.
const KINDS: &[u8; 6] = b"oragbB";

/// Reads an input: its first byte names the dialect, the second one says where the stream is cut.
///
/// # Panics
/// Two pieces give another reply than one.
pub fn answer(input: &[u8]) {
    let [kind, cut, stream @ ..] = input else { return };
    let place = KINDS.iter().position(|one| one == kind).unwrap_or(usize::from(*kind) % KINDS.len());
    let kind = KINDS[place];
    let dialect: Box<dyn Dialect> = match kind {
        b'o' => Box::new(openai::Chat),
        b'r' => Box::new(Responses),
        b'a' => Box::new(Messages { max_tokens: 1 }),
        b'g' => Box::new(GenerateContent),
        _ => Box::new(Converse),
    };
    let (form, bytes) = match kind {
        b'b' => (AMAZON, framed(stream)),
        b'B' => (AMAZON, stream.to_vec()),
        _ => (SSE, stream.to_vec()),
    };
    let (first, second) = bytes.split_at(bytes.len() * usize::from(*cut) / 256);
    let once = wire::in_pieces(&*dialect, form, &[&bytes]);
    assert_eq!(wire::in_pieces(&*dialect, form, &[first, second]), once);
    if json::check(stream).is_ok() {
        let mut gather = Gather::default();
        let _ = gather.take(tokio::time::Instant::now(), |gather| dialect.whole(stream, gather));
    }
}

fn framed(lines: &[u8]) -> Vec<u8> {
    let event = |line: &[u8]| {
        let name = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        let data = line.get(name.len() + 1..).unwrap_or_default();
        eventstream::message(&[(":event-type", &String::from_utf8_lossy(name))], data)
    };
    lines.split(|byte| *byte == b'\n').flat_map(event).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// The inputs from which the fuzzer starts.
    #[test]
    fn seeds_are_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/dialects");
        let seeds: Vec<_> = fs::read_dir(folder).unwrap().map(|seed| fs::read(seed.unwrap().path()).unwrap()).collect();
        seeds.iter().for_each(|seed| super::answer(seed));
        let kinds: std::collections::BTreeSet<u8> = seeds.iter().map(|seed| seed[0]).collect();
        assert_eq!(kinds, super::KINDS.iter().copied().filter(|kind| *kind != b'B').collect());
    }
}
