//! Certificates of a fleet: who may talk to a coordinator, and as what.
//!
//! A *folder* ([`folder`]) has the CA and the coordinator's certificate. The [`Authority`] reads it, and again whenever it
//! changes. A client makes its own key and sends a request ([`Request`]), either with a one-time [`Token`] or over a connection
//! with its present certificate. The certificate says which [`Identity`] it belongs to, and the identity's [`Role`]. The
//! client keeps the result as [`Credentials`].

mod authority;
mod credentials;
mod error;
pub mod folder;
mod identity;
mod name;
mod pem;
mod pinned;
mod request;
mod role;
mod secret;
mod sign;
mod token;
pub mod trouble;

pub use authority::{Authority, Served};
pub use credentials::Credentials;
pub use error::Error;
pub use identity::{Caller, Identity, Peer};
pub use pinned::joining;
pub use request::{Issued, Request};
pub use role::Role;
pub use token::Token;
