//! The bounds themselves, and how one text is cut.

use std::borrow::Cow;

/// Of what one side says in one message, and of a program's text or output.
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
/// Of an agent's words, tool calls and results in one turn, where it is asked or calls several times.
pub const MOST_EXCHANGE_BYTES: usize = 2 << 20;
/// Of one turn with everything in it.
pub const MOST_TURN_BYTES: usize = 6 << 20;
/// Of all turns of a trial; the conversation ends with the turn that exceeds it.
pub const MOST_TRIAL_BYTES: usize = 4 << 20;
/// Of the end of a trial: its judgments, times and costs.
pub const MOST_END_BYTES: usize = 6 << 20;
/// Of one kind in a turn: messages, tool calls, actions, notes.
pub const MOST_ITEMS: usize = 4_096;

/// The text, or its beginning with a mark where it is longer. For what stands in one line; see [`cut`].
#[must_use]
pub fn short(text: &str, most: usize) -> Cow<'_, str> {
    const MARK: &str = "…";
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(most.saturating_sub(MARK.len()));
    Cow::Owned(format!("{}{MARK}", &text[..end]))
}

/// Cuts a text that is too long, and says at its end how much is missing.
pub fn cut(text: &mut String, most: usize) {
    if text.len() <= most {
        return;
    }
    // The mark is no longer than this, whatever the number.
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
