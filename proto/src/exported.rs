//! A trial on its way to a report: the message `ExportedTrial`, whose turns stay encoded until the client reads them.

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

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    /// As the `.proto` file has it.
    #[derive(Clone, PartialEq, prost::Message)]
    struct AsWritten {
        #[prost(message, optional, tag = "1")]
        trial: Option<v1::Trial>,
        #[prost(message, repeated, tag = "2")]
        turns: Vec<v1::Turn>,
        #[prost(string, tag = "3")]
        unreadable: String,
    }

    #[test]
    fn its_bytes_are_those_of_the_written_message() {
        let turn = v1::Turn { number: 1, user: "Hi".to_owned(), ..v1::Turn::default() };
        let trial = v1::Trial { number: 7, ..v1::Trial::default() };
        for written in [
            AsWritten { trial: Some(trial), turns: vec![turn, v1::Turn::default()], unreadable: String::new() },
            AsWritten { trial: None, turns: Vec::new(), unreadable: "it is broken".to_owned() },
        ] {
            let bytes = written.encode_to_vec();
            let read = ExportedTrial::decode(bytes.as_slice()).unwrap();
            assert_eq!(read.turns.len(), written.turns.len());
            assert_eq!((read.encode_to_vec(), &read.unreadable), (bytes, &written.unreadable));
        }
    }
}
