//! The pages of a report by name, for rendering one of them anew.

use record::Summary;

use crate::{Error, Selection, html, json, junit, markdown, terminal};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    Html,
    Markdown,
    Junit,
    Json,
    Text,
}

impl Page {
    pub const ALL: [Self; 5] = [Self::Html, Self::Markdown, Self::Junit, Self::Json, Self::Text];

    /// As `gabfest report --format` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "markdown",
            Self::Junit => "junit",
            Self::Json => "json",
            Self::Text => "text",
        }
    }

    pub fn render(self, summary: &Summary, selection: &Selection) -> Result<String, Error> {
        match self {
            Self::Html => Ok(html::render(summary, selection)?),
            Self::Markdown => Ok(markdown::render(summary, selection)),
            Self::Junit => Ok(junit::render(summary, selection)?),
            Self::Json => Ok(json::render(summary)),
            Self::Text => Ok(terminal::summary_text(summary, selection.found(), false, terminal::PLAIN_WIDTH)),
        }
    }
}
