//! Certificates and keys in PEM files.

use std::path::Path;

use rcgen::KeyPair;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};

use crate::{Error, folder};

pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let unusable = |reason: String| Error::Content { path: path.to_owned(), reason };
    let bytes = folder::read(path)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let certificates = read.map_err(|error| unusable(error.to_string()))?;
    if certificates.is_empty() {
        return Err(unusable("it has no certificate".to_owned()));
    }
    Ok(certificates)
}

pub(crate) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    let bytes = folder::read(path)?;
    PrivateKeyDer::from_pem_slice(&bytes)
        .map_err(|error| Error::Content { path: path.to_owned(), reason: format!("no private key: {error}") })
}

/// A key that can sign.
pub(crate) fn signing_key(path: &Path, bytes: &[u8]) -> Result<KeyPair, Error> {
    let unusable = |reason: String| Error::Content { path: path.to_owned(), reason };
    let text = std::str::from_utf8(bytes).map_err(|error| unusable(error.to_string()))?;
    KeyPair::from_pem(text).map_err(|error| unusable(error.to_string()))
}

/// Certificates as text.
pub(crate) fn of(certificates: &[CertificateDer<'_>]) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let mut text = String::new();
    for certificate in certificates {
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        let body = STANDARD.encode(certificate);
        for start in (0..body.len()).step_by(64) {
            text.push_str(&body[start..body.len().min(start + 64)]);
            text.push('\n');
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    text
}
