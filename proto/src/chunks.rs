//! Encoded messages whose large fields stay where they are: copying a whole batch at once takes about a millisecond.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// An encoded message in several places of the memory.
#[derive(Debug, Clone, Default)]
pub struct Chunks(VecDeque<Bytes>);

impl Chunks {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    /// Removes bytes from its front: `most`, or all if there are fewer.
    pub fn split_to(&mut self, most: usize) -> Bytes {
        let Some(first) = self.0.pop_front_if(|first| first.len() <= most) else {
            return self.0.front_mut().map(|first| first.split_to(most)).unwrap_or_default();
        };
        if self.0.is_empty() || first.len() == most {
            return first;
        }
        let mut bytes = BytesMut::with_capacity(most);
        bytes.extend_from_slice(&first);
        while let Some(next) = self.0.front_mut().filter(|_| bytes.len() < most) {
            let part = next.split_to(next.len().min(most - bytes.len()));
            bytes.extend_from_slice(&part);
            self.0.pop_front_if(|next| next.is_empty());
        }
        bytes.freeze()
    }
}

impl From<Bytes> for Chunks {
    fn from(bytes: Bytes) -> Self {
        Self(std::iter::once(bytes).filter(|bytes| !bytes.is_empty()).collect())
    }
}

/// Makes [`Chunks`].
#[derive(Debug, Default)]
pub(crate) struct Writer {
    /// What is encoded here.
    own: Vec<u8>,
    /// What is carried along: after so many bytes of `own`.
    carried: Vec<(usize, Bytes)>,
}

impl Writer {
    /// What is added to it comes next.
    pub(crate) fn own(&mut self) -> &mut Vec<u8> {
        &mut self.own
    }

    /// Adds bytes without copying them.
    pub(crate) fn carry(&mut self, bytes: &Bytes) {
        self.carried.push((self.own.len(), bytes.clone()));
    }

    pub(crate) fn finish(self) -> Chunks {
        let (own, mut done) = (Bytes::from(self.own), 0);
        let mut chunks = VecDeque::with_capacity(2 * self.carried.len() + 1);
        for (before, bytes) in self.carried {
            chunks.extend([own.slice(done..before), bytes]);
            done = before;
        }
        chunks.push_back(own.slice(done..));
        chunks.retain(|chunk| !chunk.is_empty());
        Chunks(chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Chunks {
        let mut writer = Writer::default();
        writer.carry(&Bytes::from_static(b"ab"));
        writer.own().extend_from_slice(b"cde");
        writer.carry(&Bytes::from_static(b"fghijk"));
        writer.carry(&Bytes::new());
        writer.carry(&Bytes::from_static(b"l"));
        writer.own().push(b'm');
        writer.finish()
    }

    #[test]
    fn parts_of_any_size_are_the_message() {
        let whole: &[u8] = b"abcdefghijklm";
        for most in 1..=whole.len() + 1 {
            let (mut chunks, mut parts) = (message(), Vec::new());
            assert_eq!(chunks.len(), whole.len());
            while !chunks.is_empty() {
                parts.push(chunks.split_to(most));
            }
            assert_eq!(parts.concat(), whole);
            assert_eq!(parts, whole.chunks(most).collect::<Vec<_>>(), "only the last one is shorter than {most}");
        }
        assert!(Writer::default().finish().is_empty() && Chunks::from(Bytes::new()).split_to(9).is_empty());
    }

    #[test]
    fn a_part_of_one_chunk_is_not_copied() {
        let large = Bytes::from(vec![7; 100]);
        let mut chunks = Chunks::from(large.clone());
        assert_eq!(chunks.split_to(40).as_ptr(), large.as_ptr());
        assert_eq!((chunks.split_to(60).as_ptr(), chunks.len()), (large[40..].as_ptr(), 0));
    }
}
