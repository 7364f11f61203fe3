//! Where the conversation is when the person is about to speak.

use record::{Turn, turn::ToolCall};
use scenario::Message;

/// Where the conversation is when the person is about to speak.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// What was said before the first turn.
    pub opening: &'a [Message],
    /// All turns that the person has seen.
    pub turns: &'a [Turn],
    /// What the person has done with its tools for this line.
    pub calls: &'a [ToolCall],
    /// Exchanges of this conversation.
    pub exchanges: u32,
    /// The number of the line that the person is about to write, from 1 over the conversation.
    pub line: u32,
    /// Lines that the person can write, this one included.
    pub lines_left: u32,
    /// Of this trial and line.
    pub seed: u64,
}
