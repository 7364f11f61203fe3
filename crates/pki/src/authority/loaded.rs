//! Everything in a folder, read together.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc, time::SystemTime};

use rcgen::{Issuer, KeyPair};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::CertificateDer,
    server::{NoServerSessionStorage, WebPkiClientVerifier},
};
use x509_parser::{
    extensions::GeneralName,
    prelude::{FromDer as _, X509Certificate},
};

use crate::{
    Caller, Error, Role, folder, pem,
    secret::{self, Fingerprint},
};

/// When the files were written, to see that they have changed.
pub(super) type Stamp = Vec<Option<(SystemTime, u64)>>;

#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) stamp: Stamp,
    pub(super) signer: Option<Issuer<'static, KeyPair>>,
    /// The one that signs is the first.
    pub(super) authorities: Vec<CertificateDer<'static>>,
    /// Of the CA that signed the coordinator's certificate.
    pub(super) fingerprint: Fingerprint,
    pub(super) names: Vec<String>,
    pub(super) expires_at: i64,
    pub(super) revoked: BTreeSet<String>,
    pub(super) server: Arc<ServerConfig>,
    /// To call other coordinators; `None`: the certificate does not allow it.
    pub(super) client: Option<Arc<ClientConfig>>,
}

pub(super) fn stamp(place: &Path) -> Stamp {
    let of = |name| {
        let data = fs::metadata(place.join(name)).ok()?;
        Some((data.modified().ok()?, data.len()))
    };
    [folder::CA, folder::CA_KEY, folder::COORDINATOR, folder::REVOKED].map(of).to_vec()
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

impl Loaded {
    pub(super) fn read(place: &Path) -> Result<Self, Error> {
        // Before the files, so that a change while they are read is noticed.
        let stamp = stamp(place);
        let authorities = pem::certificates(&place.join(folder::CA))?;
        let own = place.join(folder::COORDINATOR);
        let (mut chain, key) = (pem::certificates(&own)?, pem::key(&own)?);
        let unusable = |reason: &str| Error::Content { path: own.clone(), reason: reason.to_owned() };
        let authority = authorities.iter().find(|authority| has_signed(authority, &chain[0]));
        let authority = authority.ok_or_else(|| unusable("no CA of ca.pem has signed it"))?.clone();
        let fingerprint = secret::sha256(&authority);
        // A client with a token has no CA yet, and recognises this one by its fingerprint.
        if !chain.contains(&authority) {
            chain.push(authority);
        }
        let (names, expires_at) = names(&chain[0]).ok_or_else(|| unusable("its certificate cannot be read"))?;
        let is_coordinator = Caller::of(&chain[0]).is_ok_and(|caller| caller.identity.role == Role::Coordinator);
        let client = match is_coordinator {
            true => Some(Arc::new(client(&authorities, chain.clone(), key.clone_key())?)),
            false => None,
        };
        let server = server(&authorities, chain, key)?;
        Ok(Self {
            stamp,
            signer: signer(place, &authorities)?,
            fingerprint,
            names,
            expires_at,
            revoked: revoked(place)?,
            server: Arc::new(server),
            client,
            authorities,
        })
    }
}

/// A certificate that a client shows must be valid; without one it may only exchange a token. A connection is never resumed,
/// so that each is checked with what is trusted now.
fn server(
    authorities: &[CertificateDer<'static>],
    chain: Vec<CertificateDer<'static>>,
    key: rustls::pki_types::PrivateKeyDer<'static>,
) -> Result<ServerConfig, Error> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority.clone())?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider())
        .allow_unauthenticated()
        .build()
        .map_err(|error| Error::Tls(rustls::Error::General(error.to_string())))?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn client(
    authorities: &[CertificateDer<'static>],
    chain: Vec<CertificateDer<'static>>,
    key: rustls::pki_types::PrivateKeyDer<'static>,
) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority.clone())?;
    }
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

/// `None`: the folder has no key of a CA.
fn signer(place: &Path, authorities: &[CertificateDer<'static>]) -> Result<Option<Issuer<'static, KeyPair>>, Error> {
    let path = place.join(folder::CA_KEY);
    let Some(bytes) = folder::read_if_there(&path)? else { return Ok(None) };
    let key = pem::signing_key(&path, &bytes)?;
    let is_its = |authority: &&CertificateDer<'_>| {
        X509Certificate::from_der(authority)
            .is_ok_and(|(_, read)| read.public_key().subject_public_key.data.as_ref() == key.public_key_raw())
    };
    let Some(authority) = authorities.iter().find(is_its) else {
        return Err(Error::Content { path, reason: "no CA of ca.pem has this key".to_owned() });
    };
    Ok(Some(Issuer::from_ca_cert_der(authority, key)?))
}

fn has_signed(authority: &CertificateDer<'_>, certificate: &CertificateDer<'_>) -> bool {
    let (Ok((_, authority)), Ok((_, certificate))) =
        (X509Certificate::from_der(authority), X509Certificate::from_der(certificate))
    else {
        return false;
    };
    authority.subject() == certificate.issuer()
}

/// Host names and addresses, and the end in Unix seconds.
fn names(certificate: &CertificateDer<'_>) -> Option<(Vec<String>, i64)> {
    let (_, read) = X509Certificate::from_der(certificate).ok()?;
    let mut names = Vec::new();
    if let Ok(Some(listed)) = read.subject_alternative_name() {
        for name in &listed.value.general_names {
            match name {
                GeneralName::DNSName(name) => names.push((*name).to_owned()),
                GeneralName::IPAddress(bytes) => names.extend(address(bytes)),
                _ => {}
            }
        }
    }
    Some((names, read.validity().not_after.timestamp()))
}

fn address(bytes: &[u8]) -> Option<String> {
    use std::net::IpAddr;
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from).ok();
    let address = v4.or_else(|| <[u8; 16]>::try_from(bytes).map(IpAddr::from).ok())?;
    Some(address.to_string())
}

fn revoked(place: &Path) -> Result<BTreeSet<String>, Error> {
    let path = place.join(folder::REVOKED);
    let Some(bytes) = folder::read_if_there(&path)? else { return Ok(BTreeSet::new()) };
    let text = String::from_utf8(bytes).map_err(|error| Error::Content { path, reason: error.to_string() })?;
    let ids = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    Ok(ids.filter(|id| !id.is_empty()).map(str::to_owned).collect())
}
