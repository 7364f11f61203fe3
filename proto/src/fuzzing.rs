//! Segments as a fuzzer makes them: what is checked once is read back by every reader.

use bytes::Bytes;
use record::Turn;

use crate::{
    segment::{self, Turns},
    turn,
};

/// Reads bytes as a segment, and its pieces as reports and exports do.
///
/// # Panics
/// The readers disagree, or turns that were read are other ones after they were written again.
pub fn segment(bytes: &Bytes) {
    let Ok(pieces) = segment::pieces(bytes.clone()) else {
        assert!(segment::attempts(bytes.clone()).is_err(), "no pieces, but attempts");
        return;
    };
    assert!(pieces.iter().map(Bytes::len).sum::<usize>() <= bytes.len());
    for piece in pieces {
        match segment::check(piece.clone()) {
            Ok((trial, epoch)) => {
                let turns = read(piece.clone(), trial, epoch);
                let attempts = segment::attempts(piece.clone()).expect("it was checked");
                assert_eq!(attempts.len(), 1);
                let (once, _) = written(trial, epoch, turns.clone());
                let (twice, lengths) = written(trial, epoch, read(once.clone(), trial, epoch));
                assert_eq!(once, twice, "what is written is read");
                assert_eq!(lengths, [u32::try_from(twice.len()).expect("it is short")]);
                assert_eq!(attempts[0].2.len(), turns.len());
            }
            Err(broken) => drop(broken.error.to_string()),
        }
    }
}

fn read(segment: Bytes, trial: u64, epoch: u32) -> Vec<Turn> {
    assert_eq!(segment::check(segment.clone()), Ok((trial, epoch)));
    let turns = segment::turns_of(segment, trial, epoch).expect("it was checked");
    turns.into_iter().map(|turn| turn::from_bytes(turn).expect("it was checked")).collect()
}

fn written(trial: u64, epoch: u32, turns: Vec<Turn>) -> (Bytes, Vec<u32>) {
    segment::encode([(trial, epoch, Turns::from_iter(turns))])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inputs from which the fuzzer starts: two bytes for the store, then a segment.
    #[test]
    fn seeds_are_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/segment");
        let seeds: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|seed| std::fs::read(seed.unwrap().path()).unwrap()).collect();
        seeds.iter().for_each(|seed| segment(&Bytes::copy_from_slice(&seed[2..])));
        let whole = seeds.iter().filter(|seed| segment::attempts(Bytes::copy_from_slice(&seed[2..])).is_ok()).count();
        assert!(whole >= 2 && seeds.len() >= 3, "{whole} of {}", seeds.len());
    }
}
