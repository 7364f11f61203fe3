//! Listeners with bounds: on connections, on silent peers, and on file descriptors.
//!
//! - [`Door`]: accepts connections. It waits if the system refuses one, leaves descriptors for other uses, and closes silent
//!   connections.
//! - [`http`]: HTTP/1 behind a door, with time limits for the head and the body of each request.
//! - [`descriptors`]: the process's limit of open files and connections.
//! - [`ports`]: the machine's local ports.

pub mod descriptors;
mod door;
pub mod http;
pub mod ports;

pub use door::{Door, Guest, Terms};
