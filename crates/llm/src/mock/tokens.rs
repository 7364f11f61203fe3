//! The mock's count of tokens.

/// For the role of a message and its marks.
const MESSAGE_OVERHEAD: u64 = 3;

/// About four characters a token, as is usual for English.
pub(crate) fn of_text(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

pub(crate) fn of_messages<'a>(texts: impl IntoIterator<Item = &'a str>) -> u64 {
    texts.into_iter().map(|text| of_text(text) + MESSAGE_OVERHEAD).sum()
}
