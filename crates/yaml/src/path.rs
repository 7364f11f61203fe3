//! Parameter paths such as `run[0].conversation.user_simulator.persona`, and setting the value at a path.

mod fits;

use std::fmt;

use serde_json::Value;

/// The path of a value in a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Path(pub Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    Key(String),
    Index(usize),
}

/// A text that is not a path. The messages are those of the ElizaOS path parser, which users search for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("Path must be a non-empty string")]
    Empty,
    #[error("Path cannot start or end with a dot")]
    OuterDot,
    #[error("Empty segment in path")]
    EmptySegment,
    #[error("Invalid array index: {0}")]
    Index(String),
    #[error("Missing closing bracket for array index")]
    Unclosed,
    #[error("Unexpected closing bracket")]
    Unopened,
    #[error("Array access must follow a property name")]
    IndexWithoutProperty,
    #[error("Invalid property name in path")]
    Name,
}

/// A path that a document has no place for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// A lowercase fragment.
    pub message: String,
    pub help: Option<String>,
}

impl Path {
    /// Reads `ident(.ident | [digits])*`; an index must follow a name.
    ///
    /// # Errors
    /// The text is anything else.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::Empty);
        }
        if text.starts_with('.') || text.ends_with('.') {
            return Err(Error::OuterDot);
        }
        let mut segments = Vec::new();
        for piece in text.split('.') {
            piece_of(piece, &mut segments)?;
        }
        Ok(Self(segments))
    }

    /// A list item below a list, or a value below a mapping.
    #[must_use]
    pub fn join(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }

    /// The value at this path.
    #[must_use]
    pub fn find<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(document, |value, segment| match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.get(index),
        })
    }

    /// Sets the value at this path; a missing last key is created.
    ///
    /// # Errors
    /// A segment before the last does not exist, or the last one does not fit the existing value.
    pub fn set(&self, document: &mut Value, value: Value) -> Result<(), Miss> {
        let Some((last, parents)) = self.0.split_last() else {
            *document = value;
            return Ok(());
        };
        let mut place = document;
        for (depth, segment) in parents.iter().enumerate() {
            place = match segment {
                Segment::Key(key) => place.get_mut(key),
                Segment::Index(index) => place.get_mut(index),
            }
            .ok_or_else(|| Miss::bare(format!("`{}` does not exist", Self(self.0[..=depth].to_vec()))))?;
        }
        match (last, place) {
            (Segment::Key(key), Value::Object(map)) => {
                map.insert(key.clone(), value);
                Ok(())
            }
            (Segment::Index(index), Value::Array(items)) if *index < items.len() => {
                items[*index] = value;
                Ok(())
            }
            _ => Err(Miss::bare(format!("`{self}` does not exist"))),
        }
    }
}

/// The correct path for a text with an extra dot or space; `None` if the fault is another one.
#[must_use]
pub fn meant(text: &str) -> Option<Path> {
    Path::parse(&normalize(text)).ok()
}

/// Removes extra characters around and between the names: spaces and dots at the ends, repeated dots.
#[must_use]
pub fn normalize(text: &str) -> String {
    text.trim().split('.').filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join(".")
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if !is_name(key) => write!(f, "[{key:?}]")?,
                Segment::Key(key) if position == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

impl Miss {
    pub(crate) fn bare(message: String) -> Self {
        Self { message, help: None }
    }
}

/// One piece between dots: a name, and at most one index behind it.
fn piece_of(piece: &str, segments: &mut Vec<Segment>) -> Result<(), Error> {
    if piece.is_empty() {
        return Err(Error::EmptySegment);
    }
    let opening = piece.find('[');
    if piece.find(']').is_some_and(|closing| opening.is_none_or(|opening| closing < opening)) {
        return Err(Error::Unopened);
    }
    let Some(opening) = opening else { return name_of(piece, segments) };
    let (name, rest) = (&piece[..opening], &piece[opening + 1..]);
    if name.is_empty() {
        return Err(Error::IndexWithoutProperty);
    }
    name_of(name, segments)?;
    let (digits, after) = rest.split_once(']').ok_or(Error::Unclosed)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::Index(digits.to_owned()));
    }
    segments.push(Segment::Index(digits.parse().map_err(|_| Error::Index(digits.to_owned()))?));
    match after.chars().next() {
        None => Ok(()),
        Some('[') => Err(Error::IndexWithoutProperty),
        Some(']') => Err(Error::Unopened),
        Some(_) => Err(Error::Name),
    }
}

fn name_of(piece: &str, segments: &mut Vec<Segment>) -> Result<(), Error> {
    if !is_name(piece) {
        return Err(Error::Name);
    }
    segments.push(Segment::Key(piece.to_owned()));
    Ok(())
}

fn is_name(text: &str) -> bool {
    let starts = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$');
    starts && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$')
}
