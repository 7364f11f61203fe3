//! Stored pieces as a fuzzer makes them: damaged ones are noticed, whole ones come back as they were.

use bytes::Bytes;

use crate::packing::{Packer, Unpacker};

/// The first bytes of a frame, and one with a bit that no decoder reads.
const HEAD: usize = 5;
const SMALL: usize = 4 << 10;

/// Reads an input: two bytes say where its frame is damaged, and how; the rest is a piece, and a frame as it is. Returns the
/// piece as a reader would get it.
///
/// # Panics
/// A piece does not come back as it was, a damaged frame gives another piece, or memory beyond the bound is asked for.
pub fn piece(input: &[u8]) -> Option<Bytes> {
    let [place, change, piece @ ..] = input else { return None };
    // One reads them all: a damaged frame must not spoil the next one.
    let mut unpacker = Unpacker::default();
    if let Ok(found) = unpacker.unpack(Bytes::copy_from_slice(piece)) {
        assert!(found.len() <= 64 << 20, "{} bytes", found.len());
    }
    let mut packer = Packer::new().expect("memory takes it");
    let frame = packer.pack(piece).expect("every piece can be packed");
    let whole = unpacker.unpack(frame.clone().into()).expect("it is whole");
    assert_eq!(whole, piece);
    if piece.len() <= SMALL && frame.len() > HEAD {
        let mut damaged = frame;
        let at = HEAD + usize::from(*place) % (damaged.len() - HEAD);
        damaged[at] ^= change;
        // Nothing was damaged, or it is noticed.
        if let Ok(found) = unpacker.unpack(damaged.into()) {
            assert!(found == piece, "byte {at} changed by {change} is not noticed");
        }
    }
    Some(whole)
}

/// The piece of stored bytes that may be a frame.
#[must_use]
pub fn stored(input: &[u8]) -> Bytes {
    Unpacker::default().unpack_or_broken(Bytes::copy_from_slice(input))
}
