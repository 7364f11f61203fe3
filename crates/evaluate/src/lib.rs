//! How a reply is judged: a check is data, [`compile()`] turns it into an [`Evaluator`], which judges.
//!
//! An evaluator sees a [`Subject`] and asks the models of a [`JudgePool`]. It depends on neither worker nor agent, so
//! that a stored transcript can be judged again. One file for each kind of check; `edges` has `starts_with`,
//! `ends_with` and `equals`. [`question`] is the only place that asks a language model, also for the termination check
//! of a conversation.

pub mod battery;
pub mod calibration;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod labelled;
pub mod question;
pub mod scorer;
pub mod subject;

mod anchor;
mod answer_id;
mod any_of;
mod branches;
mod call;
mod caseless;
mod command_exit_code_is;
mod compile;
mod contains;
mod context_retention;
mod conversation_flow;
mod conversation_length;
mod custom;
mod edges;
mod empty;
mod end_state;
mod error;
mod evaluator;
mod excerpt;
mod execution_time;
mod file_contains;
mod file_exists;
mod files;
mod goal_reached;
mod http_state;
mod json_check;
mod json_lookup;
mod json_path;
mod json_schema;
mod judge_pool;
mod language;
mod latency;
mod length;
mod llm_judge;
mod loose_json;
mod mock_state;
mod needle;
mod nested;
mod no_repeated_reply;
mod number;
mod outcome;
mod pattern;
mod range;
mod refusal;
mod regex_match;
mod rubric;
mod semantic;
mod semantic_condition;
mod semantic_similar;
mod share;
mod similarity;
mod spend;
mod sql_state;
mod string_contains;
mod telephony_events;
mod tool_calls;
mod trajectory_contains_action;
mod user_satisfaction;
mod within;

pub use compile::compile;
pub use error::Error;
pub use evaluator::Evaluator;
pub use judge_pool::{JUDGE_MAX_TOKENS, JudgePool};
pub use scorer::Scorer;
pub use subject::{Subject, Workspace};
