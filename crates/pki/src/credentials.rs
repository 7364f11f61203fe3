//! A client's key, its certificate, and the CAs that it trusts.

use std::{ops::Range, path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::{Caller, Error, Identity, Role, authority::provider, folder, pem};

#[derive(Clone)]
pub struct Credentials {
    key: String,
    chain: Vec<CertificateDer<'static>>,
    authorities: Vec<CertificateDer<'static>>,
    identity: Identity,
    /// Unix seconds.
    valid: Range<i64>,
    config: Arc<ClientConfig>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Credentials").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Credentials {
    /// `key`: PEM. [`Error::Tls`] if key and certificate do not belong together.
    pub(crate) fn new(
        chain: Vec<CertificateDer<'static>>,
        key: &str,
        authorities: Vec<CertificateDer<'static>>,
    ) -> Result<Self, Error> {
        let wrong = |reason: &str| Error::Answer(reason.to_owned());
        let first = chain.first().ok_or_else(|| wrong("it has no certificate"))?;
        let identity = Caller::of(first)?.identity;
        if identity.role == Role::Coordinator {
            return Err(wrong("the certificate has no role of gabfest for clients"));
        }
        let (_, read) = X509Certificate::from_der(first).map_err(|_| wrong("the certificate cannot be read"))?;
        let valid = read.validity().not_before.timestamp()..read.validity().not_after.timestamp();
        let mut roots = RootCertStore::empty();
        for authority in &authorities {
            roots.add(authority.clone())?;
        }
        let private = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| wrong("the key cannot be read"))?;
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain.clone(), private)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Self { key: key.to_owned(), chain, authorities, identity, valid, config: Arc::new(config) })
    }

    /// Of a folder with [`folder::IDENTITY`] and [`folder::CA`].
    pub fn load(place: &Path) -> Result<Self, Error> {
        let path = place.join(folder::IDENTITY);
        let chain = pem::certificates(&path)?;
        let bytes = folder::read(&path)?;
        let key = pem::signing_key(&path, &bytes)?;
        let authorities = pem::certificates(&place.join(folder::CA))?;
        Self::new(chain, &key.serialize_pem(), authorities).map_err(|error| match error {
            Error::File { .. } | Error::Content { .. } => error,
            other => Error::Content { path, reason: other.to_string() },
        })
    }

    /// Whether the folder has credentials, usable or not.
    #[must_use]
    pub fn is_in(place: &Path) -> bool {
        place.join(folder::IDENTITY).exists()
    }

    pub fn save(&self, place: &Path) -> Result<(), Error> {
        folder::make(place)?;
        folder::write_public(&place.join(folder::CA), &pem::of(&self.authorities))?;
        folder::write_secret(&place.join(folder::IDENTITY), &format!("{}{}", self.key, pem::of(&self.chain)))
    }

    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Unix seconds.
    #[must_use]
    pub fn expires_at(&self) -> i64 {
        self.valid.end
    }

    /// When it is time for another certificate: a third of its life is left, enough for many tries.
    #[must_use]
    pub fn renews_at(&self) -> i64 {
        let life = self.valid.end - self.valid.start;
        self.valid.end - life / 3
    }

    /// For the next connection.
    #[must_use]
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }
}
