//! A text to look for in another: anywhere, at one end, or as the whole text; case-sensitive or not.

use crate::{
    anchor::Anchor,
    caseless::Caseless,
    error::Error,
    excerpt::{SHORT_BYTES, excerpt},
};

#[derive(Debug)]
pub(crate) struct Needle {
    value: String,
    place: Anchor,
    /// `None`: case-sensitive.
    caseless: Option<Caseless>,
}

impl Needle {
    /// `field` names the text in the error. At an end or as the whole, the needle is trimmed.
    pub(crate) fn new(value: &str, place: Anchor, ignore_case: bool, field: &'static str) -> Result<Self, Error> {
        let value = if place == Anchor::Anywhere { value.to_owned() } else { unix(value).trim().to_owned() };
        if value.is_empty() && place != Anchor::Whole {
            return Err(Error::Empty { field });
        }
        let caseless = if ignore_case { Some(Caseless::placed(&value, place, field)?) } else { None };
        Ok(Self { value, place, caseless })
    }

    /// One for each value, at least one.
    pub(crate) fn all(
        values: &[String],
        place: Anchor,
        ignore_case: bool,
        field: &'static str,
    ) -> Result<Vec<Self>, Error> {
        if values.is_empty() {
            return Err(Error::Empty { field });
        }
        values.iter().map(|value| Self::new(value, place, ignore_case, field)).collect()
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        let normal;
        let text = if self.place == Anchor::Anywhere {
            text
        } else {
            normal = unix(text);
            normal.trim()
        };
        match (&self.caseless, self.place) {
            (Some(caseless), _) => caseless.is_in(text),
            (None, Anchor::Anywhere) => text.contains(&self.value),
            (None, Anchor::Start) => text.starts_with(&self.value),
            (None, Anchor::End) => text.ends_with(&self.value),
            (None, Anchor::Whole) => text == self.value,
        }
    }

    /// The quoted text, shortened for a reason.
    pub(crate) fn shown(&self) -> String {
        format!("{:?}", excerpt(&self.value, SHORT_BYTES))
    }
}

/// Several needles as a reason lists them.
pub(crate) fn listed(needles: &[Needle]) -> String {
    const SHOWN: usize = 8;
    let mut text = needles.iter().take(SHOWN).map(Needle::shown).collect::<Vec<_>>().join(", ");
    if needles.len() > SHOWN {
        text.push_str(&format!(" and {} more", needles.len() - SHOWN));
    }
    text
}

/// The text with Unix line ends.
fn unix(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text.into() }
}
