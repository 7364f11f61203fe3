//! Who a certificate belongs to.

use rustls::pki_types::CertificateDer;
use x509_parser::{
    oid_registry::{OID_X509_SERIALNUMBER, Oid},
    prelude::{FromDer as _, X509Certificate},
    x509::X509Name,
};

use crate::{Error, Role, name, secret};

const ID_BYTES: usize = 8;

/// What stays the same when a certificate is renewed. It is the subject of the certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Made by the coordinator for each token, so that no two clients have the same.
    pub id: String,
    /// What the client calls itself, for people.
    pub name: String,
    pub role: Role,
}

impl Identity {
    /// Whether a text looks like the id of an identity.
    #[must_use]
    pub fn has_form_of_id(text: &str) -> bool {
        text.len() == 2 * ID_BYTES && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }

    pub(crate) fn new(role: Role, name: &str) -> Result<Self, Error> {
        Ok(Self { id: const_hex::encode(secret::random::<ID_BYTES>()?), name: name::cleaned(name), role })
    }
}

/// A client with a certificate that a trusted CA has signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub identity: Identity,
    /// Unix seconds. Nothing is answered after it.
    pub expires_at: i64,
}

/// The other side of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// It showed no certificate, and may only exchange a token for one.
    Unknown,
    Known(Caller),
}

impl Caller {
    /// Whose the certificate is. Its signature is checked elsewhere. A certificate that another program issued may have no
    /// serial number in its subject; then its name is the id.
    pub fn of(certificate: &CertificateDer<'_>) -> Result<Self, Error> {
        let unreadable = |reason: &str| Error::Request(reason.to_owned());
        let (_, parsed) =
            X509Certificate::from_der(certificate).map_err(|_| unreadable("the certificate cannot be read"))?;
        let subject = parsed.subject();
        let part = |text: Option<&str>| text.map(str::to_owned);
        let name = part(subject.iter_common_name().next().and_then(|value| value.as_str().ok()))
            .ok_or_else(|| unreadable("the certificate has no name"))?;
        let role = subject.iter_organizational_unit().next().and_then(|value| value.as_str().ok());
        let known = |name| Role::named(name).or((name == Role::Coordinator.name()).then_some(Role::Coordinator));
        let role = role.and_then(known).ok_or_else(|| unreadable("the certificate has no role of gabfest"))?;
        let id = part(first(subject, &OID_X509_SERIALNUMBER)).unwrap_or_else(|| name.clone());
        Ok(Self { identity: Identity { id, name, role }, expires_at: parsed.validity().not_after.timestamp() })
    }
}

fn first<'a>(subject: &'a X509Name<'_>, oid: &'a Oid<'a>) -> Option<&'a str> {
    subject.iter_by_oid(oid).next().and_then(|value| value.as_str().ok())
}
