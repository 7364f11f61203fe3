//! The certificates that this machine trusts. They are read once for all endpoints, and only when one is called by TLS.
//!
//! Reading them takes some ten milliseconds. A machine without certificates can still call endpoints without TLS.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use rustls_platform_verifier::Verifier;

/// Verifies as [`Verifier`] does, which reads the certificates when it is made.
#[derive(Debug)]
struct WhenNeeded(Arc<CryptoProvider>);

/// For all connections. Needs a default crypto provider of rustls.
pub(super) fn config() -> ClientConfig {
    let config = ClientConfig::builder();
    let verifier = WhenNeeded(Arc::clone(config.crypto_provider()));
    config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
}

/// Reads the certificates now. Fails if the machine has none.
pub(crate) fn read() -> Result<(), Error> {
    let config = ClientConfig::builder();
    verifier(config.crypto_provider()).map(|_| ())
}

/// A failure is not kept: the certificates may come later.
fn verifier(provider: &Arc<CryptoProvider>) -> Result<&'static Verifier, Error> {
    static VERIFIER: OnceLock<Verifier> = OnceLock::new();
    static READING: Mutex<()> = Mutex::new(());
    if let Some(verifier) = VERIFIER.get() {
        return Ok(verifier);
    }
    let _reading = READING.lock().unwrap_or_else(PoisonError::into_inner);
    match VERIFIER.get() {
        Some(verifier) => Ok(verifier),
        None => Verifier::new(Arc::clone(provider)).map(|verifier| VERIFIER.get_or_init(|| verifier)),
    }
}

impl ServerCertVerifier for WhenNeeded {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        verifier(&self.0)?.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verifier(&self.0)?.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verifier(&self.0)?.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
