//! The wire between coordinator, workers and people: generated messages, conversions to and from what happened, and
//! how clients reach the services.
//!
//! `gabfest.proto` beside this crate's sources is the contract; `cargo xtask proto` makes [`v1`] from it.

mod chunks;
pub mod ended;
mod exported;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod names;
mod reason;
pub mod segment;
mod transport;
pub mod trial;
pub mod turn;

pub use chunks::Chunks;
pub use exported::ExportedTrial;
pub use names::Error;
pub use reason::reason;
pub use transport::Transport;

/// Generated from `gabfest/v1/gabfest.proto`.
#[expect(
    clippy::all,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    reason = "generated code, compared with its source by a test"
)]
pub mod v1 {
    include!("generated/gabfest.v1.rs");
}

/// The file descriptor set that reflection serves.
pub const DESCRIPTOR: &[u8] = include_bytes!("generated/gabfest.v1.bin");

/// The version of this protocol. `Join` refuses workers with another version.
pub const PROTOCOL: u32 = 5;

/// The encoded size of a batch.
#[must_use]
pub fn size_of_batch(batch: &v1::Batch) -> usize {
    prost::Message::encoded_len(batch)
}

/// The size of an attempt on the wire.
#[must_use]
pub fn size_of_attempt(attempt: &v1::OtherAttempt) -> usize {
    prost::Message::encoded_len(attempt)
}

/// The encoded size of an exported trial.
#[must_use]
pub fn size_of_exported(trial: &ExportedTrial) -> usize {
    prost::Message::encoded_len(trial)
}

#[must_use]
pub fn batch_to_bytes(batch: &v1::Batch) -> bytes::Bytes {
    prost::Message::encode_to_vec(batch).into()
}

/// # Errors
/// The bytes are not a batch. The error describes why.
pub fn batch_from_bytes(bytes: bytes::Bytes) -> Result<v1::Batch, String> {
    prost::Message::decode(bytes).map_err(|error: prost::DecodeError| error.to_string())
}

/// The metadata of a relayed call: an encoded [`v1::RelayedCaller`].
pub const RELAYED_CALLER: &str = "gabfest-caller-bin";

#[must_use]
pub fn caller_to_bytes(caller: &v1::RelayedCaller) -> Vec<u8> {
    prost::Message::encode_to_vec(caller)
}

/// # Errors
/// The bytes are not a caller. The error describes why.
pub fn caller_from_bytes(bytes: &[u8]) -> Result<v1::RelayedCaller, String> {
    prost::Message::decode(bytes).map_err(|error: prost::DecodeError| error.to_string())
}

/// A larger batch is sent in parts of this size, so that heartbeats can be sent between them.
pub const PART_BYTES: usize = 4 << 10;

/// Plans are sent as one message, so they determine the maximum message size.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;
