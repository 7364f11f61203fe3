//! The bounds themselves, and how one text is cut.

use std::borrow::Cow;

/// The limit of one message of one side, and of a program's text or output.
pub const MOST_TEXT_BYTES: usize = scenario::plan::MOST_TEXT_BYTES;
/// Of the arguments of a tool call, and of its result.
pub const MOST_TOOL_BYTES: usize = 256 << 10;
/// Of a note.
pub const MOST_NOTE_BYTES: usize = 256 << 10;
/// Of a judgment's reason, and of its evidence.
pub const MOST_REASON_BYTES: usize = 64 << 10;
/// Of the message of a failure or of a call that failed.
pub const MOST_MESSAGE_BYTES: usize = 8 << 10;
/// Of a name: of a model, a tool, an action, an id, a check.
pub const LONGEST_NAME: usize = 256;
/// The limit of an agent's text, tool calls and results in one turn with several requests or calls.
pub const MOST_EXCHANGE_BYTES: usize = 2 << 20;
/// Of one turn with everything in it.
pub const MOST_TURN_BYTES: usize = 6 << 20;
/// The limit of all turns of a trial; the conversation ends with the turn that exceeds it.
pub const MOST_TRIAL_BYTES: usize = 4 << 20;
/// The limit of a trial's end: its judgments, times and costs.
pub const MOST_END_BYTES: usize = 6 << 20;
/// Of one kind in a turn: messages, tool calls, actions, notes.
pub const MOST_ITEMS: usize = 4_096;

/// The text, or its start with a mark if it is longer. For single lines; see [`cut`].
#[must_use]
pub fn short(text: &str, most: usize) -> Cow<'_, str> {
    const MARK: &str = "…";
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(most.saturating_sub(MARK.len()));
    Cow::Owned(format!("{}{MARK}", &text[..end]))
}

/// Cuts a text that is too long, and appends how much is missing.
pub fn cut(text: &mut String, most: usize) {
    if text.len() <= most {
        return;
    }
    // The longest possible mark.
    const MARK_BYTES: usize = 48;
    let end = text.floor_char_boundary(most.saturating_sub(MARK_BYTES));
    let gone = text.len() - end;
    text.truncate(end);
    text.shrink_to_fit();
    let mark = format!("… [gabfest cut {gone} bytes]");
    if end + mark.len() <= most {
        text.push_str(&mark);
    }
}

/// Cuts a name.
pub(super) fn shorten(text: &mut String, most: usize) {
    if let Cow::Owned(shorter) = short(text, most.min(LONGEST_NAME)) {
        *text = shorter;
    }
}
