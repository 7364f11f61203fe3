//! A message in full: its speaker and its content.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use scenario::{
    Message,
    message::{Part as MessagePart, Speaker},
};
use yaml::{Findings, Part};

/// A message: `text`, or `parts` if it is more than one text.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Message")]
pub(crate) struct MessageDocument {
    /// The speaker.
    speaker: Speaker,
    /// The text.
    text: Option<String>,
    /// Texts and images, in order.
    #[serde(rename = "parts")]
    #[schemars(with = "Option<Vec<PartDocument>>")]
    _parts: Option<Vec<Value>>,
}

/// A text or an image.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MessagePart")]
pub(crate) struct PartDocument {
    /// The text.
    text: Option<String>,
    /// The address of an image.
    image: Option<String>,
}

/// The messages under a key, in order; faulty ones are left out.
pub(super) fn read_all(parts: &[Part<'_>], findings: &mut Findings) -> Vec<Message> {
    parts.iter().filter_map(|part| read(part, findings)).collect()
}

pub(super) fn read(part: &Part<'_>, findings: &mut Findings) -> Option<Message> {
    let written = part.decode::<MessageDocument>(findings)?;
    match (written.text, part.get("parts")) {
        (Some(text), None) => Some(Message::text_of(written.speaker, text)),
        (None, Some(parts)) => {
            let parts = parts.items().iter().map(|part| read_part(part, findings)).collect::<Option<Vec<_>>>()?;
            Some(Message { speaker: written.speaker, parts })
        }
        _ => {
            findings.error(part.spot(), "expected either `text` or `parts`");
            findings.help("as in `{speaker: user, text: Hello}`, or `parts: [{text: Look}, {image: URL}]`");
            None
        }
    }
}

fn read_part(part: &Part<'_>, findings: &mut Findings) -> Option<MessagePart> {
    let written = part.decode::<PartDocument>(findings)?;
    match (written.text, written.image) {
        (Some(text), None) => Some(MessagePart::Text(text)),
        (None, Some(address)) => Some(MessagePart::Image(address)),
        _ => {
            findings.error(part.spot(), "expected either `text` or `image`");
            None
        }
    }
}
