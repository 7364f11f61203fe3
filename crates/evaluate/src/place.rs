//! Where in a text another one must stand.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Anywhere,
    Start,
    End,
    Whole,
}
