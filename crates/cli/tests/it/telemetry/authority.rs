//! A private certificate authority and its certificates.

use std::{path::PathBuf, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
};
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::process::Place;

pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A server's certificate, and the authority of the client certificates that it requires.
pub(super) struct Doorkeeper {
    identity: Signed,
    authority: String,
    asks: bool,
}

/// A certificate and its key, in PEM.
struct Signed {
    certificate: String,
    key: String,
}

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    /// For a server on this machine. One that `asks` accepts only clients with a certificate of the same authority.
    pub(super) fn doorkeeper(&self, asks: bool) -> Doorkeeper {
        Doorkeeper { identity: self.sign(&["127.0.0.1"]), authority: self.pem(), asks }
    }

    /// The authority's own certificate as a file.
    pub(super) fn file(&self, place: &Place, name: &str) -> PathBuf {
        place.write(name, &self.pem())
    }

    /// A client's certificate and key as files.
    pub(super) fn client(&self, place: &Place) -> [PathBuf; 2] {
        let Signed { certificate, key } = self.sign(&["gabfest"]);
        [place.write("client.pem", &certificate), place.write("client.key", &key)]
    }

    fn pem(&self) -> String {
        self.issuer.pem()
    }

    fn sign(&self, names: &[&str]) -> Signed {
        let names: Vec<String> = names.iter().copied().map(ToOwned::to_owned).collect();
        let mut params = CertificateParams::new(names.clone()).unwrap();
        params.distinguished_name.push(DnType::CommonName, names[0].as_str());
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Signed { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

impl Doorkeeper {
    pub(super) fn of_http(&self) -> Arc<ServerConfig> {
        let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let provider = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = if self.asks {
            let mut roots = RootCertStore::empty();
            roots.add(certificate(&self.authority)).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::from_pem_slice(self.identity.key.as_bytes()).unwrap();
        Arc::new(builder.with_single_cert(vec![certificate(&self.identity.certificate)], key).unwrap())
    }

    pub(super) fn of_grpc(&self) -> ServerTlsConfig {
        let config =
            ServerTlsConfig::new().identity(Identity::from_pem(&self.identity.certificate, &self.identity.key));
        if self.asks { config.client_ca_root(Certificate::from_pem(&self.authority)) } else { config }
    }
}
