//! Listeners that keep their process in order: who comes in, how many, and for how long without a word.
//!
//! - [`Door`]: connections one by one. It waits when the system refuses one, leaves descriptors for everything else, and
//!   closes connections that do not speak.
//! - [`http`]: HTTP/1 behind such a door, with time limits for the head and the body of each request.
//! - [`descriptors`]: how many files and connections the process may have.

pub mod descriptors;
mod door;
pub mod http;

pub use door::{Door, Guest, Terms};
