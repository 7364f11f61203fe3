//! A request for a certificate. The client makes the key, and the key stays with it.

use rcgen::{CertificateParams, CertificateSigningRequestParams, DistinguishedName, KeyPair, PublicKey};
use rustls::pki_types::{CertificateDer, CertificateSigningRequestDer};

use crate::{Credentials, Error};

/// A request of a few hundred bytes; nobody needs more.
const LARGEST_BYTES: usize = 8 << 10;

/// A new key and the request for its certificate.
#[derive(Debug)]
pub struct Request {
    key: KeyPair,
    bytes: Vec<u8>,
}

/// What a coordinator answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// DER.
    pub certificate: Vec<u8>,
    /// The CAs that the client trusts from now on, DER.
    pub authorities: Vec<Vec<u8>>,
}

impl Request {
    pub fn new() -> Result<Self, Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        // The coordinator decides what is in the certificate.
        params.distinguished_name = DistinguishedName::new();
        let bytes = params.serialize_request(&key)?.der().to_vec();
        Ok(Self { key, bytes })
    }

    /// DER.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The credentials, if the answer belongs to this request.
    pub fn answered(self, issued: &Issued) -> Result<Credentials, Error> {
        let chain = vec![CertificateDer::from(issued.certificate.clone())];
        let authorities = issued.authorities.iter().cloned().map(CertificateDer::from).collect();
        Credentials::new(chain, &self.key.serialize_pem(), authorities)
    }
}

/// The key of a request whose signature shows that the sender has its private half.
pub(crate) fn public_key(request: &[u8]) -> Result<PublicKey, Error> {
    if request.len() > LARGEST_BYTES {
        return Err(Error::Request(format!("it has {} bytes", request.len())));
    }
    let request = CertificateSigningRequestDer::from(request);
    let read = CertificateSigningRequestParams::from_der(&request);
    read.map(|read| read.public_key).map_err(|error| Error::Request(error.to_string()))
}
