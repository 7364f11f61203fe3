//! Size limits of the parts of a record. Larger parts are cut, and the cut is marked.
//!
//! Agents, models and tools have their own limits where their answers are read. These are the last ones: a record
//! within them fits into a message, into the store and into a report. docs/limits.md lists them all.

mod records;
mod text;

pub use self::{
    records::{end, size_of_end, size_of_turn, turn},
    text::{
        LONGEST_NAME, MOST_END_BYTES, MOST_EXCHANGE_BYTES, MOST_ITEMS, MOST_MESSAGE_BYTES, MOST_NOTE_BYTES,
        MOST_REASON_BYTES, MOST_TEXT_BYTES, MOST_TOOL_BYTES, MOST_TRIAL_BYTES, MOST_TURN_BYTES, cut, short,
    },
};
