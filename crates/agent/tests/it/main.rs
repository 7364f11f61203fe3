//! Every kind of connection against real servers and programs, well-behaved and broken ones.

mod a2a;
mod ag_ui;
/// A scripted server, shared with the tests of the client for chat completions.
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
