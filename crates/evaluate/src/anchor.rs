//! The position at which a text must contain another.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Anywhere,
    Start,
    End,
    Whole,
}
