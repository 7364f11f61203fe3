//! An objective: what a figure of a run must be, over the whole run or in each stretch of it.
//!
//! `p99(ttft) < 2s for 60s, abort` is read by [`Objective::read`] and written by its `Display`; plans store that text. Which trials an
//! objective is about follows from the plan ([`Objective::selection`]).

mod parse;
mod select;
mod step;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use parse::Fault;
pub use select::{Selection, faults};

use crate::time;

/// The most objectives of a run: each costs a few counters a turn.
pub const MOST: usize = 64;

/// What a figure of a run must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    pub figure: Figure,
    /// Which trials it is about; all of these hold.
    pub filters: Vec<Filter>,
    pub comparison: Comparison,
    /// In microseconds, as a share, as a number, or in dollars, as the figure says.
    pub bound: f64,
    /// It must hold in every stretch of this length; `None`: over the whole run.
    pub window_micros: Option<u64>,
    /// Not judged while the run is younger than this.
    pub delay_micros: u64,
    /// Stop the run as soon as it is broken.
    pub abort: bool,
}

/// What an objective measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    Time {
        of: Time,
        statistic: Statistic,
    },
    Share(Share),
    Count(Count),
    /// In US dollars, of all roles.
    Cost,
    /// The same, divided by conversations.
    CostPer(CostPer),
    /// The agent's input and output tokens, divided by conversations.
    TokensPerConversation,
}

/// What a cost is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostPer {
    /// Conversations that were played, whatever their result.
    Conversation,
    /// Conversations that passed.
    Pass,
}

/// A time of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    Response,
    Service,
    Wait,
    Ttft,
    /// From the moment the turn is due to the first token, with our own waits and repeated tries.
    ResponseTtft,
    InterToken,
    PerOutputToken,
}

impl Time {
    /// Whether a turn without an answer has this time, and it is infinite: what a user waits for who gets no answer.
    #[must_use]
    pub fn is_infinite_unanswered(self) -> bool {
        matches!(self, Self::Response | Self::Service | Self::Ttft | Self::ResponseTtft)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// In thousandths of a percent: p99.9 is 99,900.
    Percentile(u32),
    Mean,
    Max,
}

/// A share of conversations or turns, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// Of conversations that say something about the agent: those that passed.
    Pass,
    /// Of the same: those that ended with an error of the agent.
    Error,
    /// Of scheduled starts: those that found no free slot.
    Drop,
    /// Of turns: those that met the limits of `goodput`.
    Goodput,
    /// Of conversations: those whose turns all met them.
    ConversationGoodput,
}

/// A number of conversations or turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Conversations that found no free slot.
    Dropped,
    /// Conversations that ended with an error of the agent.
    Errors,
    /// Turns without an answer of the agent.
    Unanswered,
    /// Input and output tokens of the agent.
    Tokens,
}

/// Only trials with this value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    pub part: Part,
    pub value: String,
}

/// What a filter looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Scenario,
    Persona,
    Tag,
    Agent,
    /// A group of the load.
    Group,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    NotEqual,
}

const TIMES: [(&str, Time); 7] = [
    ("response", Time::Response),
    ("service", Time::Service),
    ("wait", Time::Wait),
    ("ttft", Time::Ttft),
    ("response_ttft", Time::ResponseTtft),
    ("inter_token", Time::InterToken),
    ("per_output_token", Time::PerOutputToken),
];
const NUMBERS: [(&str, Figure); 13] = [
    ("pass_rate", Figure::Share(Share::Pass)),
    ("error_rate", Figure::Share(Share::Error)),
    ("drop_rate", Figure::Share(Share::Drop)),
    ("goodput", Figure::Share(Share::Goodput)),
    ("conversation_goodput", Figure::Share(Share::ConversationGoodput)),
    ("dropped", Figure::Count(Count::Dropped)),
    ("errors", Figure::Count(Count::Errors)),
    ("unanswered", Figure::Count(Count::Unanswered)),
    ("cost", Figure::Cost),
    ("cost_per_conversation", Figure::CostPer(CostPer::Conversation)),
    ("cost_per_pass", Figure::CostPer(CostPer::Pass)),
    ("tokens", Figure::Count(Count::Tokens)),
    ("tokens_per_conversation", Figure::TokensPerConversation),
];
const PARTS: [(&str, Part); 5] = [
    ("scenario", Part::Scenario),
    ("persona", Part::Persona),
    ("tag", Part::Tag),
    ("agent", Part::Agent),
    ("group", Part::Group),
];
/// Longer signs first: `<` begins `<=`.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    (">", Comparison::More),
];

impl Objective {
    /// # Errors
    /// Where the text is wrong, what was expected there, and what was found.
    pub fn read(text: &str) -> Result<Self, Fault> {
        parse::read(text)
    }
}

impl Comparison {
    #[must_use]
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Less => value < bound,
            Self::AtMost => value <= bound,
            Self::More => value > bound,
            Self::AtLeast => value >= bound,
            Self::Equal => value == bound,
            Self::NotEqual => value != bound,
        }
    }

    /// Whether smaller values are better.
    #[must_use]
    pub fn is_upper(self) -> bool {
        matches!(self, Self::Less | Self::AtMost)
    }

    #[must_use]
    pub fn sign(self) -> &'static str {
        name_of(&COMPARISONS, self)
    }
}

impl Figure {
    /// The value as users write it: `1s500ms`, `95%`, `20`.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Time { .. } => time::show(value.max(0.0) as u64),
            Self::Share(_) => {
                let percent = (value * 1e9).round() / 1e7;
                // A share with more decimals is written as it is, so that it is read the same.
                if percent / 100.0 == value { format!("{percent}%") } else { value.to_string() }
            }
            Self::Count(_) | Self::Cost | Self::CostPer(_) | Self::TokensPerConversation => value.to_string(),
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Time { of, statistic } => write!(f, "{statistic}({})", name_of(&TIMES, of)),
            other => f.write_str(name_of(&NUMBERS, other)),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Percentile(thousandths) => write!(f, "p{}", f64::from(thousandths) / 1_000.0),
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=", name_of(&PARTS, self.part))?;
        if parse::is_bare(&self.value) {
            return f.write_str(&self.value);
        }
        write!(f, "\"{}\"", self.value.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.figure)?;
        if !self.filters.is_empty() {
            let filters: Vec<String> = self.filters.iter().map(ToString::to_string).collect();
            write!(f, "{{{}}}", filters.join(", "))?;
        }
        write!(f, " {} {}", self.comparison.sign(), self.figure.show(self.bound))?;
        if let Some(window) = self.window_micros {
            write!(f, " for {}", time::show(window))?;
        }
        if self.delay_micros > 0 {
            write!(f, ", delay {}", time::show(self.delay_micros))?;
        }
        f.write_str(if self.abort { ", abort" } else { "" })
    }
}

impl Serialize for Objective {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Objective {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

fn name_of<T: PartialEq>(names: &[(&'static str, T)], wanted: T) -> &'static str {
    names.iter().find(|(_, one)| *one == wanted).map_or("", |(name, _)| name)
}
