//! What can be wrong with certificates, keys and tokens.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: std::io::Error },
    #[error("{} is not usable: {reason}", path.display())]
    Content { path: PathBuf, reason: String },
    #[error("{} has a CA already", .0.display())]
    Exists(PathBuf),
    #[error("{0:?} is neither a host name nor an IP address")]
    Name(String),
    #[error("the text is not a join token: {0}")]
    NotAToken(&'static str),
    #[error("the request for a certificate cannot be read: {0}")]
    Request(String),
    #[error("no certificate can be had: this coordinator has no key of its CA")]
    NoKey,
    #[error("the certificate of {0} is revoked")]
    Revoked(String),
    #[error("a certificate cannot be made: {0}")]
    Sign(#[from] rcgen::Error),
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
    /// What a coordinator answered is not what was asked for.
    #[error("the answer of the coordinator is not usable: {0}")]
    Answer(String),
}
