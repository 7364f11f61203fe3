//! One call over HTTP, whatever is asked: what the client for chat completions and every agent behind HTTP share.
//!
//! [`Sender`] sends a [`Call`] and gives the [`Answer`]'s head, its body or its events, or a classified error;
//! [`headers`] say what a call is for and [`written`] reads those of the settings, as [`query`] reads keys of an
//! address. Inside, `connect` keeps connecting
//! out of the latency, `sse` cuts a stream into events, `rejection` and `wait` say what an answer means that is none,
//! `broken` why there is none, `resources` what this machine lacks, `place` where a call went, `stream` is a connection, and
//! `secrets` keeps keys out of messages.

mod address;
pub(crate) mod answer;
pub mod broken;
mod connect;
pub mod headers;
mod place;
pub mod query;
pub(crate) mod rejection;
pub mod resources;
pub mod secrets;
pub(crate) mod sender;
pub(crate) mod sse;
mod stream;
mod wait;
pub mod written;

pub use ::http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
pub use url::Url;

pub use address::address;
pub use answer::{Answer, Event, Events};
pub use place::{Place, address as shown_address};
pub use rejection::PAGE;
pub use sender::{Call, Sender, Unusable};
