//! What whole processes send to collectors: everything, by every protocol and over TLS, never a key, and never at the
//! run's expense.

mod authority;
mod bad_collector;
mod endings;
mod playing;
mod propagation;
mod receiver;
mod secrets;
mod tls;
mod tree;
mod whole;
