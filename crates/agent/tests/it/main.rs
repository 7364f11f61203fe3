//! Real servers, real programs: every kind of connection with those that behave and those that do not.

mod a2a;
mod ag_ui;
/// A server that answers by a script: the one that the client for chat completions is tested with.
#[path = "../../../llm/tests/it/bad_server.rs"]
mod bad_server;
mod documented;
mod eliza;
mod emely;
mod house;
mod http;
mod knowledge;
mod predefined;
mod presets;
mod resources;
mod subprocess;
mod tool_addresses;
mod websocket;
