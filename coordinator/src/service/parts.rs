//! Batches on their way in: in one piece or in parts, and how much of them was read.

use bytes::BytesMut;
use proto::{ended::Batch, v1::worker_message::Body};

/// Few batches are larger.
const USUAL_BYTES: usize = 2 << 20;

/// What a worker has said.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    Batch(Batch),
    /// Anything but a batch or a part of one.
    Other(Body),
}

#[derive(Debug, Default)]
pub(super) struct Parts {
    /// The parts received so far of an unfinished batch.
    begun: BytesMut,
    /// The size of the batch before it, or of a usual one.
    last: usize,
    read: u64,
}

impl Parts {
    /// Takes the bytes of batches out of a message. `Ok(None)`: wait for the next part.
    pub(super) fn read(&mut self, body: Body) -> Result<Option<Said>, String> {
        match body {
            Body::Part(part) => {
                self.read += part.data.len() as u64;
                if self.begun.len() + part.data.len() > proto::MAX_MESSAGE_BYTES {
                    return Err(format!("a batch of more than {} bytes", proto::MAX_MESSAGE_BYTES));
                }
                if self.begun.is_empty() {
                    // Batches are much alike, and a buffer that grows is copied.
                    self.begun.reserve(self.last.max(part.data.len()));
                }
                self.begun.extend_from_slice(&part.data);
                if !part.last {
                    return Ok(None);
                }
                self.last = self.begun.len().min(USUAL_BYTES);
                let batch = Batch::from_bytes(self.begun.split().freeze());
                batch.map(|batch| Some(Said::Batch(batch))).map_err(|error| format!("parts of no batch: {error}"))
            }
            Body::Batch(_) if !self.begun.is_empty() => Err("a batch between the parts of another".to_owned()),
            Body::Batch(batch) => {
                self.read += proto::size_of_batch(&batch) as u64;
                Ok(Some(Said::Batch(batch.into())))
            }
            other => Ok(Some(Said::Other(other))),
        }
    }

    /// Bytes of batches so far.
    pub(super) fn bytes(&self) -> u64 {
        self.read
    }
}

#[cfg(test)]
mod tests {
    use proto::v1;

    use super::*;

    fn part(data: &[u8], last: bool) -> Body {
        Body::Part(v1::Part { data: data.to_vec().into(), last })
    }

    #[test]
    fn parts_make_a_batch_and_other_words_go_between_them() {
        let batch = v1::Batch { sequence: 7, run: "r".repeat(100), ..v1::Batch::default() };
        let bytes = proto::batch_to_bytes(&batch);
        let read = Ok(Some(Said::Batch(batch.clone().into())));
        let mut parts = Parts::default();
        for sent in 1..=2 {
            assert_eq!(parts.read(part(&bytes[..40], false)), Ok(None));
            let beat = Body::Beat(v1::Beat::default());
            assert_eq!(parts.read(beat.clone()), Ok(Some(Said::Other(beat))));
            assert_eq!(parts.read(part(&bytes[40..], true)), read);
            assert_eq!(parts.bytes(), sent * bytes.len() as u64);
        }
        assert_eq!(parts.read(Body::Batch(batch.clone())), read);
        assert_eq!(parts.bytes(), 3 * bytes.len() as u64);
        assert_eq!(parts.read(part(&bytes[..40], false)), Ok(None));
        assert!(parts.read(Body::Batch(batch)).is_err(), "a batch is whole before the next one begins");
    }

    #[test]
    fn invalid_and_too_large_batches_are_refused() {
        assert!(Parts::default().read(part(b"\xff\xff", true)).is_err());
        let mut parts = Parts::default();
        let megabyte = vec![0; 1 << 20];
        let refused = (0..100).find_map(|_| parts.read(part(&megabyte, false)).err());
        assert_eq!(refused.as_deref(), Some("a batch of more than 67108864 bytes"));
    }
}
