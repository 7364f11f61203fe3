//! The content of a turn: text, and images between texts.

use pulldown_cmark::{Event, Parser, Tag};

use super::{
    markdown::{self, Block, Kind},
    page::{Item, Page},
    values::Values,
};
use scenario::{
    Message,
    message::{Part, Speaker},
};
use yaml::Findings;

/// The level of `### Text` and `### Image`.
const LEVEL: usize = 3;

pub(super) fn message(
    item: &Item<'_>,
    speaker: Speaker,
    page: &Page<'_>,
    values: &Values,
    findings: &mut Findings,
) -> Message {
    let source = page.source.text;
    let title = |block: &Block| match &block.kind {
        Kind::Heading { level: LEVEL, text } => Some(source[text.clone()].to_ascii_lowercase()),
        _ => None,
    };
    let is_mixed = item.body.iter().filter_map(title).any(|title| title == "text" || title == "image");
    if !is_mixed {
        return Message::text_of(speaker, values.fill(&item.text(&page.source)));
    }
    let mut parts = Vec::new();
    for section in item.body.chunk_by(|_, next| title(next).is_none()) {
        let (kind, body) = match section.first().and_then(title) {
            Some(title) if title == "text" || title == "image" => (title, &section[1..]),
            // Any other heading is part of the message.
            _ => ("text".to_owned(), section),
        };
        let text = values.fill(&markdown::text_of(source, body));
        match first_image(&text).filter(|_| kind == "image") {
            Some(address) => {
                if !["http:", "https:", "data:"].iter().any(|scheme| address.starts_with(scheme)) {
                    let at = page.source.spot(section[0].range.start);
                    findings.warning(at, format!("the image `{address}` has no address that an agent can open"));
                    findings.help("an address begins with `https:` or `data:`");
                }
                parts.push(Part::Image(address));
            }
            None if !text.is_empty() => parts.push(Part::Text(text)),
            None => {}
        }
    }
    Message { speaker, parts }
}

fn first_image(text: &str) -> Option<String> {
    Parser::new(text).find_map(|event| match event {
        Event::Start(Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    })
}
