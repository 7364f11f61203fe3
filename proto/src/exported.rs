//! A trial on its way to a report: the message `ExportedTrial`, whose turns nobody decodes before the report does.

use bytes::Bytes;

use crate::v1;

/// The same bytes on the wire as a message with the field `repeated Turn turns`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ExportedTrial {
    #[prost(message, optional, tag = "1")]
    pub trial: Option<v1::Trial>,
    /// Each an encoded [`v1::Turn`].
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub turns: Vec<Bytes>,
    /// The reason why its turns cannot be read; empty if they can.
    #[prost(string, tag = "3")]
    pub unreadable: String,
}
