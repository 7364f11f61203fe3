//! What whole processes tell collectors: everything, by every protocol and behind TLS, never a key, and never at the cost of a run.

mod authority;
mod bad_collector;
mod endings;
mod playing;
mod receiver;
mod secrets;
mod tls;
mod told;
mod tree;
mod whole;
