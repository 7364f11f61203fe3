//! Makes certificates: of a CA, of a coordinator, and of clients.

use std::{net::IpAddr, time::Duration};

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData, SerialNumber,
};
use time::OffsetDateTime;

use crate::{Error, Identity, Role, secret};

const ORGANIZATION: &str = "gabfest";
/// `serialNumber` in a subject.
const SUBJECT_SERIAL: &[u64] = &[2, 5, 4, 5];
const DAY: u64 = 24 * 3_600;
const AUTHORITY: Duration = Duration::from_secs(3_650 * DAY);
/// Clocks of a fleet differ a little.
const EARLIER: Duration = Duration::from_secs(300);

/// A self-signed certificate of a new CA. `now`: Unix milliseconds.
pub(crate) fn authority(key: &KeyPair, now: i64) -> Result<Certificate, Error> {
    let mut params = base("gabfest CA", now, AUTHORITY)?;
    // Two CAs of one fleet have different names, so that a verifier finds the right one.
    let apart = const_hex::encode(secret::random::<4>()?);
    params.distinguished_name.push(DnType::CustomDnType(SUBJECT_SERIAL.to_vec()), apart.as_str());
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params.self_signed(key)?)
}

pub(crate) fn coordinator(
    names: &[String],
    key: &KeyPair,
    issuer: &Issuer<'_, KeyPair>,
    now: i64,
) -> Result<Certificate, Error> {
    let role = Role::Coordinator;
    let mut params = base("gabfest coordinator", now, role.lifetime())?;
    // With them it may also call other coordinators.
    params.distinguished_name.push(DnType::OrganizationalUnitName, role.name());
    let id = const_hex::encode(secret::random::<8>()?);
    params.distinguished_name.push(DnType::CustomDnType(SUBJECT_SERIAL.to_vec()), id);
    params.subject_alt_names = CertificateParams::new(names.to_vec())?.subject_alt_names;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params.signed_by(key, issuer)?)
}

pub(crate) fn client(
    identity: &Identity,
    key: &impl PublicKeyData,
    issuer: &Issuer<'_, KeyPair>,
    now: i64,
    lifetime: Duration,
) -> Result<Certificate, Error> {
    let mut params = base(&identity.name, now, lifetime)?;
    params.distinguished_name.push(DnType::OrganizationalUnitName, identity.role.name());
    params.distinguished_name.push(DnType::CustomDnType(SUBJECT_SERIAL.to_vec()), identity.id.as_str());
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params.signed_by(key, issuer)?)
}

fn base(name: &str, now: i64, lifetime: Duration) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, ORGANIZATION);
    params.distinguished_name.push(DnType::CommonName, name);
    let mut serial = secret::random::<16>()?;
    // A serial number is positive and not zero.
    serial[0] = serial[0] & 0x7f | 1;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    let now = OffsetDateTime::from_unix_timestamp(now / 1_000).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    params.not_before = now - EARLIER;
    params.not_after = now + lifetime;
    Ok(params)
}

/// Checks the names of a coordinator before anything is written.
pub(crate) fn check_names(names: &[String]) -> Result<(), Error> {
    let plain = |name: &str| {
        let letters = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-.*".contains(letter));
        letters && !name.is_empty() && name.len() <= 253 && name.parse::<IpAddr>().is_err()
    };
    match names.iter().find(|name| !plain(name) && name.parse::<IpAddr>().is_err()) {
        Some(name) => Err(Error::Name(name.clone())),
        None => Ok(()),
    }
}
