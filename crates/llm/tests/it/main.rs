//! Real sockets: the client against servers that behave and servers that do not.

mod bad_server;
mod client;
mod credentials;
mod dialects;
mod keys;
mod learned_limits;
mod storm;
