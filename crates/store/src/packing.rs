//! Pieces as the stores keep them: each is one zstd frame with its length and a checksum.
//!
//! A piece is compressed alone, so that one trial is read without the others. Stores from before have pieces that are not
//! compressed; those begin with a tag of protobuf and never as a frame does.

use bytes::Bytes;
use zstd::bulk::{Compressor, Decompressor};

use crate::Error;

/// The first bytes of a frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Level 1: 3 is 6 % smaller and takes half as long again.
const LEVEL: i32 = 1;
/// So many pieces are compressed before other tasks of the thread run.
pub(crate) const PIECES_AT_A_TIME: u32 = 32;
/// No piece is larger, since no message of a worker is; a damaged frame cannot ask for more memory.
const MOST_BYTES: usize = 64 << 20;

/// Makes frames. It keeps its working memory.
pub(crate) struct Packer(Compressor<'static>);

impl Packer {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut compressor = Compressor::new(LEVEL).map_err(failed)?;
        compressor.include_checksum(true).map_err(failed)?;
        Ok(Self(compressor))
    }

    /// An empty piece stays empty: it says that the words were not kept.
    pub(crate) fn pack(&mut self, piece: &[u8]) -> Result<Vec<u8>, Error> {
        if piece.is_empty() { Ok(Vec::new()) } else { self.0.compress(piece).map_err(failed) }
    }
}

/// [`Error::Failed`] if the bytes are damaged.
pub(crate) fn unpacked(stored: Bytes) -> Result<Bytes, Error> {
    if !stored.starts_with(&MAGIC) {
        return Ok(stored);
    }
    let size = zstd::zstd_safe::get_frame_content_size(&stored).ok().flatten();
    let size = size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size <= MOST_BYTES);
    let size = size.ok_or_else(|| Error::Failed("stored turns: a frame without a size".to_owned()))?;
    let bytes = Decompressor::new().and_then(|mut frames| frames.decompress(&stored, size));
    bytes.map(Bytes::from).map_err(|error| Error::Failed(format!("stored turns: {error}")))
}

/// The same, of a piece that can be damaged; [`BROKEN`] stands for it, which no reader of turns accepts.
pub(crate) fn unpacked_or_broken(stored: Bytes) -> Bytes {
    unpacked(stored).unwrap_or(Bytes::from_static(BROKEN))
}

/// A field of protobuf without its end.
const BROKEN: &[u8] = b"\x0a\xff";

fn failed(error: std::io::Error) -> Error {
    Error::Failed(format!("failed to compress turns: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_as_they_were() {
        let mut packer = Packer::new().unwrap();
        let long = "Where is my order? ".repeat(5_000);
        for piece in ["", "a", "\u{0}turns of 1/2", &long] {
            let packed = packer.pack(piece.as_bytes()).unwrap();
            assert_eq!(unpacked(packed.into()).unwrap(), piece.as_bytes());
        }
        assert!(packer.pack(long.as_bytes()).unwrap().len() < long.len() / 50);
        assert_eq!(unpacked(Bytes::from_static(b"\x0a\x02\x08\x03")).unwrap(), &b"\x0a\x02\x08\x03"[..], "of before");
    }

    #[test]
    fn damaged_frames_are_noticed_and_ask_for_no_memory() {
        let whole = Packer::new().unwrap().pack("Where is my order?".repeat(9).as_bytes()).unwrap();
        // Byte 4 has a bit that no decoder reads.
        for at in 5..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            let read = unpacked(damaged.into());
            assert!(read.is_err(), "byte {at}: {read:?}");
        }
        for length in 4..whole.len() {
            assert!(unpacked(whole[..length].to_vec().into()).is_err(), "{length} bytes");
        }
        // A frame of 2^60 bytes, says its head.
        let mut huge = MAGIC.to_vec();
        huge.extend([0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10, 1, 0, 0]);
        assert_eq!(
            unpacked(huge.into()).unwrap_err().to_string(),
            "the store failed: stored turns: a frame without a size"
        );
        assert_eq!(unpacked_or_broken(whole[..9].to_vec().into()), BROKEN);
    }
}
