//! The simulated user without its calls to a model: its prompt, and how its draft becomes a line.
//!
//! A [`User`] plays one person in one conversation. [`prompt`] is what its model sees: instructions, [`examples`] and a
//! card with the [`history`] and the state of its [`goal`]. [`states`] says where the agent's answers lead the person. [`reply`] reads
//! the model's answer as a [`Draft`], [`faults`] finds what no person would say, [`objection`] why a signal is refused, and
//! [`refusal`] what the model reads then, with [`plain_lines`] to choose from. [`typing`] changes how a line is typed. The worker makes the calls, and sends only what passed.

pub mod faults;

mod cleaning;
mod draft;
mod examination;
mod examples;
mod goal;
mod handover;
mod history;
mod length;
mod objection;
mod plain_lines;
mod prompt;
mod questions;
mod refusal;
mod reply;
mod situation;
mod states;
mod template;
mod typing;
mod user;

pub use draft::{Draft, UserCall};
pub use objection::Objection;
pub use prompt::Prompt;
pub use refusal::Refusal;
pub use situation::Situation;
pub use states::Crossroads;
pub use template::Error as TemplateError;
pub use user::{Cue, End, User};
