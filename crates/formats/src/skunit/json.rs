//! The JSON of a check: in a fence or bare, with or without trailing commas.

use serde_json::Value;

use super::{page::Item, page::Page, values::Values};
use yaml::{Document, Findings, Places, Spot};

/// JSON with its position in the scenario's file.
#[derive(Debug)]
pub(super) struct Json {
    document: Document,
    base: Spot,
}

impl Json {
    /// Takes the text between the first and the last bracket.
    pub(super) fn read(item: &Item<'_>, page: &Page<'_>, values: &Values, findings: &mut Findings) -> Option<Self> {
        let (first, last) = (item.body.first()?, item.body.last()?);
        let raw = &page.source.text[first.range.start..last.range.end];
        let (Some(start), Some(end)) = (raw.find(['{', '[']), raw.rfind(['}', ']'])) else {
            findings.error(item.body_at(&page.source), "expected JSON, found no `{`");
            return None;
        };
        let base = page.source.spot(first.range.start + start);
        if end < start {
            findings.error(base, "the JSON is not closed");
            return None;
        }
        // JSON with trailing commas or comments is valid YAML flow style, except for tabs.
        let text = values.fill_json(&raw[start..=end]).replace('\t', " ");
        let document = match yaml::open(&text, "") {
            Ok(document) => document,
            Err(fault) => match serde_json::from_str::<Value>(&text) {
                // Pairs of surrogates are known to JSON only.
                Ok(value) => Document { path: String::new(), value, places: Places::default(), included: Vec::new() },
                Err(_) => {
                    let at = moved(Spot::at(fault.line, fault.column), base);
                    findings.error(at, format!("the text is not JSON: {}", fault.message));
                    return None;
                }
            },
        };
        if !document.value.is_object() {
            findings.error(base, "expected a JSON object");
            return None;
        }
        Some(Self { document, base })
    }

    pub(super) fn root(&self) -> yaml::Part<'_> {
        self.document.root()
    }

    /// The position of a part in the file.
    pub(super) fn spot(&self, at: Spot) -> Spot {
        moved(at, self.base)
    }
}

fn moved(at: Spot, base: Spot) -> Spot {
    if at.line <= 1 {
        Spot::at(base.line, base.column + at.column.saturating_sub(1))
    } else {
        Spot::at(base.line + at.line - 1, at.column)
    }
}
