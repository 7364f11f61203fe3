//! Pieces as the stores keep them: each is one zstd frame with its length and a checksum.
//!
//! A piece is compressed alone, so that one trial is read without the others. A dictionary knows what turns have in common:
//! with it, a small piece takes half the time and less room. The frame names its dictionary. Stores from before
//! have frames without one, and pieces that are not compressed; those begin with a tag of protobuf and never as a frame does.

use std::{io, sync::LazyLock};

use bytes::Bytes;
use zstd::{
    bulk::{Compressor, Decompressor},
    dict::{DecoderDictionary, EncoderDictionary},
};

use crate::Error;

/// The first bytes of a frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Level 1: 3 is 6 % smaller and takes half as long again.
const LEVEL: i32 = 1;
/// Made by `bench/dictionary.py`. It never changes: stores need it to be read.
const DICTIONARY: &[u8] = include_bytes!("../turns.dict");
static TO_PACK: LazyLock<EncoderDictionary<'static>> = LazyLock::new(|| EncoderDictionary::copy(DICTIONARY, LEVEL));
static TO_UNPACK: LazyLock<DecoderDictionary<'static>> = LazyLock::new(|| DecoderDictionary::copy(DICTIONARY));
/// So many pieces are compressed before other tasks of the thread run.
pub(crate) const PIECES_AT_A_TIME: u32 = 8;
/// No piece is larger, since no message of a worker is; a damaged frame cannot ask for more memory.
const MOST_BYTES: usize = 64 << 20;

/// Makes frames. It keeps its working memory.
pub(crate) struct Packer(Compressor<'static>);

impl Packer {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut compressor = Compressor::with_prepared_dictionary(&TO_PACK).map_err(failed)?;
        compressor.include_checksum(true).map_err(failed)?;
        Ok(Self(compressor))
    }

    /// An empty piece stays empty: it says that the words were not kept.
    pub(crate) fn pack(&mut self, piece: &[u8]) -> Result<Vec<u8>, Error> {
        if piece.is_empty() { Ok(Vec::new()) } else { self.0.compress(piece).map_err(failed) }
    }
}

/// Reads frames. It keeps its working memory, which takes longer to set up than a frame takes to read.
#[derive(Default)]
pub(crate) struct Unpacker(Option<Decompressor<'static>>);

impl Unpacker {
    /// [`Error::Failed`] if the bytes are damaged.
    pub(crate) fn unpack(&mut self, stored: Bytes) -> Result<Bytes, Error> {
        if !stored.starts_with(&MAGIC) {
            return Ok(stored);
        }
        let size = zstd::zstd_safe::get_frame_content_size(&stored).ok().flatten();
        let size = size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size <= MOST_BYTES);
        let size = size.ok_or_else(|| Error::Failed("stored turns: a frame without a size".to_owned()))?;
        self.decompress(&stored, size).map(Bytes::from).map_err(|error| Error::Failed(format!("stored turns: {error}")))
    }

    /// The same, of a piece that can be damaged; [`BROKEN`] stands for it, which no reader of turns accepts.
    pub(crate) fn unpack_or_broken(&mut self, stored: Bytes) -> Bytes {
        self.unpack(stored).unwrap_or(Bytes::from_static(BROKEN))
    }

    fn decompress(&mut self, stored: &[u8], size: usize) -> io::Result<Vec<u8>> {
        match &mut self.0 {
            Some(frames) => frames.decompress(stored, size),
            none => none.insert(Decompressor::with_prepared_dictionary(&TO_UNPACK)?).decompress(stored, size),
        }
    }
}

/// A field of protobuf without its end.
const BROKEN: &[u8] = b"\x0a\xff";

fn failed(error: io::Error) -> Error {
    Error::Failed(format!("failed to compress turns: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_as_they_were() {
        let (mut packer, mut unpacker) = (Packer::new().unwrap(), Unpacker::default());
        let long = "Where is my order? ".repeat(5_000);
        for piece in ["", "a", "\u{0}turns of 1/2", &long] {
            let packed = packer.pack(piece.as_bytes()).unwrap();
            assert_eq!(unpacker.unpack(packed.into()).unwrap(), piece.as_bytes());
        }
        assert!(packer.pack(long.as_bytes()).unwrap().len() < long.len() / 50);
        let before = Bytes::from_static(b"\x0a\x02\x08\x03");
        assert_eq!(unpacker.unpack(before.clone()).unwrap(), before, "of before");
        let before = zstd::bulk::compress(long.as_bytes(), LEVEL).unwrap();
        assert_eq!(unpacker.unpack(before.into()).unwrap(), long.as_bytes(), "a frame without a dictionary");
    }

    #[test]
    fn a_frame_names_the_dictionary_that_it_needs() {
        let frame = Packer::new().unwrap().pack(b"Where is my order?").unwrap();
        let number = zstd::zstd_safe::get_dict_id_from_frame(&frame).map(u32::from);
        assert_eq!(number, Some(32_769));
        assert_eq!(zstd::zstd_safe::get_dict_id_from_dict(DICTIONARY).map(u32::from), number);
        assert!(zstd::bulk::decompress(&frame, 99).is_err(), "it cannot be read without it");
    }

    #[test]
    fn damaged_frames_are_noticed_and_ask_for_no_memory() {
        let (mut packer, mut unpacker) = (Packer::new().unwrap(), Unpacker::default());
        let text = "Where is my order?".repeat(9);
        let whole = packer.pack(text.as_bytes()).unwrap();
        // Byte 4 has a bit that no decoder reads.
        for at in 5..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            let read = unpacker.unpack(damaged.into());
            assert!(read.is_err(), "byte {at}: {read:?}");
            let next = unpacker.unpack(whole.clone().into());
            assert_eq!(next.unwrap(), text.as_bytes(), "the frame after a damaged one");
        }
        for length in 4..whole.len() {
            assert!(unpacker.unpack(whole[..length].to_vec().into()).is_err(), "{length} bytes");
        }
        // A frame of 2^60 bytes, says its head.
        let mut huge = MAGIC.to_vec();
        huge.extend([0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10, 1, 0, 0]);
        assert_eq!(
            unpacker.unpack(huge.into()).unwrap_err().to_string(),
            "the store failed: stored turns: a frame without a size"
        );
        assert_eq!(unpacker.unpack_or_broken(whole[..9].to_vec().into()), BROKEN);
    }
}
