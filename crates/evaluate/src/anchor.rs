//! Where in a text another one must stand.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Anywhere,
    Start,
    End,
    Whole,
}
