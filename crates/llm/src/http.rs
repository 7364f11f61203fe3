//! HTTP for the model clients and for every agent behind HTTP.
//!
//! [`Sender`] sends an [`HttpRequest`] and returns the [`Answer`]'s head, its body or its events, or a classified error.
//! [`headers`] describe a call, [`written`] reads the headers of the settings, and [`query`] reads the keys of an
//! address. A [`KeySource`] provides keys that change.
//!
//! Inside, `resolver` checks what names lead to, `connections` keeps connecting out of the latency, `trust` reads the certificates of this machine, and `frames` cuts a stream into events (`sse`,
//! `eventstream`). Errors come from `rejection` (an unsuccessful status, with `retry_after` and `google`), `broken` (a
//! failed connection) and `resources` (this machine's own limits). `request_line` names the call, and [`secrets`] keeps
//! keys out of messages.

mod address;
pub(crate) mod answer;
pub mod broken;
pub(crate) mod causes;
pub(crate) mod connections;
mod events;
pub(crate) mod eventstream;
pub(crate) mod frames;
mod google;
pub mod headers;
mod key_source;
pub mod query;
pub(crate) mod rejection;
mod request_line;
mod resolver;
pub mod resources;
mod retry_after;
pub mod secrets;
pub(crate) mod sender;
pub(crate) mod sse;
mod stream;
pub(crate) mod trust;
pub(crate) mod windows;
pub mod written;

pub use ::http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
pub use url::Url;

pub use address::address;
pub use answer::Answer;
pub use events::{Event, Events};
pub use key_source::{Given, KeySource};
pub use rejection::PAGE;
pub use request_line::{RequestLine, address as shown_address};
pub use resolver::{leads_astray, resolve};
pub use sender::{HttpRequest, Sender, Unusable};
