//! The wire between coordinator, workers and people: generated messages, and conversions to and from what happened.
//!
//! `gabfest.proto` beside this crate's sources is the contract; `cargo xtask proto` makes [`v1`] from it.

mod names;
mod reason;
pub mod segment;
pub mod trial;
pub mod turn;

pub use names::Error;
pub use reason::reason;

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

/// The version of this protocol; a worker of another one is refused at `Join`.
pub const PROTOCOL: u32 = 3;

/// What a batch takes on the wire.
#[must_use]
pub fn size_of_batch(batch: &v1::Batch) -> usize {
    prost::Message::encoded_len(batch)
}

/// Plans travel whole, so they bound the size of a message.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;
