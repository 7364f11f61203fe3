//! The state of the conversation when the person is about to write.

use record::{Turn, turn::ToolCall};
use scenario::{Message, Step};

/// The state of the conversation when the person is about to write.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The messages before the first turn.
    pub opening: &'a [Message],
    /// All turns that the person has seen.
    pub turns: &'a [Turn],
    /// The steps of the scenario, which have the images of scripted turns.
    pub steps: &'a [Step],
    /// The calls of the person's tools for this line.
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
