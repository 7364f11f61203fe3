//! Why an exporter cannot be set up.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("set up the exporter: {0}")]
    Exporter(String),
    #[error("read {}: {error}", path.display())]
    File { path: PathBuf, error: std::io::Error },
    #[error("read {}: expected certificates in PEM", path.display())]
    NoCertificate { path: PathBuf },
    #[error("read {} and {}: expected a certificate and its private key in PEM", certificate.display(), key.display())]
    NoIdentity { certificate: PathBuf, key: PathBuf },
}
