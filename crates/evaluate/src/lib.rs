//! How a reply is judged: a check is data, [`compile()`] makes it behaviour, an [`Evaluator`] finds.
//!
//! An evaluator sees a [`Subject`] and may ask the [`Bench`] of judges; it knows neither worker nor agent,
//! so a stored transcript can be judged again. One file an evaluator (or small family) beside this map;
//! [`question`] is the only place that asks a language model, and the termination check asks through it too.

pub mod battery;
pub mod bench;
pub mod compile;
pub mod evaluator;
pub mod labelled;
pub mod question;
pub mod scorer;
pub mod subject;

mod answer_id;
mod any_of;
mod call;
mod caseless;
mod command_exit_code;
mod contains;
mod context_retention;
mod conversation_flow;
mod conversation_length;
mod edges;
mod empty;
mod excerpt;
mod execution_time;
mod files;
mod json_check;
mod json_lookup;
mod language;
mod length;
mod llm_judge;
mod loose_json;
mod needle;
mod nested;
mod number;
mod outcome;
mod refusal;
mod regex_match;
mod rubric;
mod semantic;
mod similarity;
mod spending;
mod string_contains;
mod telephony_events;
mod tool_calls;
mod trajectory;
mod user_satisfaction;

pub use bench::{Bench, JUDGE_MAX_TOKENS};
pub use compile::compile;
pub use evaluator::Evaluator;
pub use scorer::Scorer;
pub use subject::{Subject, Workspace};
