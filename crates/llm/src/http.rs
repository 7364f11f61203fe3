//! HTTP, as the client for chat completions and every agent behind HTTP use it.
//!
//! [`Sender`] sends a [`HttpRequest`] and gives the [`Answer`]'s head, its body or its events, or a classified error;
//! [`headers`] say what a call is for and [`written`] reads those of the settings, as [`query`] reads keys of an
//! address. Inside, `connect` keeps connecting
//! out of the latency, `sse` cuts a stream into events, `rejection` and `retry_after` say what an answer means that is none,
//! `broken` why there is none, `resources` what this machine lacks, `place` where a call went, `stream` is a connection, and
//! `secrets` keeps keys out of messages.

mod address;
pub(crate) mod answer;
pub mod broken;
pub(crate) mod causes;
mod connect;
mod events;
pub mod headers;
mod place;
pub mod query;
pub(crate) mod rejection;
pub mod resources;
mod retry_after;
pub mod secrets;
pub(crate) mod sender;
pub(crate) mod sse;
mod stream;
pub mod written;

pub use ::http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
pub use url::Url;

pub use address::address;
pub use answer::Answer;
pub use events::{Event, Events};
pub use place::{Place, address as shown_address};
pub use rejection::PAGE;
pub use sender::{HttpRequest, Sender, Unusable};
