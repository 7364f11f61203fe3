//! Makes the files of a folder: a CA with its coordinator, other certificates for the coordinator, another CA, and the list
//! of who is refused.

use std::{fs, path::Path};

use rcgen::{Issuer, KeyPair};
use rustls::pki_types::CertificateDer;

use super::Authority;
use crate::{Error, Role, folder, pem, sign};

/// A coordinator can always be reached by these from its own machine.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl Authority {
    /// Makes a CA, the certificate of a coordinator that is reached by these names, and the identity of an administrator.
    pub fn create(place: &Path, names: &[String], admin: &str, now: i64) -> Result<Self, Error> {
        let names = with_local(names);
        sign::check_names(&names)?;
        if place.join(folder::CA).exists() || place.join(folder::CA_KEY).exists() {
            return Err(Error::Exists(place.to_owned()));
        }
        folder::make(place)?;
        let key = KeyPair::generate()?;
        let authority = sign::authority(&key, now)?.der().clone();
        let (key_text, issuer) = (key.serialize_pem(), Issuer::from_ca_cert_der(&authority, key)?);
        folder::write_secret(&place.join(folder::CA_KEY), &key_text)?;
        write_coordinator(place, &names, &issuer, &authority, now)?;
        // Last, because a folder with it is complete.
        folder::write_public(&place.join(folder::CA), &pem::of(&[authority]))?;
        let created = Self::open(place)?;
        created.issue(Role::Admin, admin, Role::Admin.lifetime(), now)?.save(&place.join(folder::ADMIN))?;
        Ok(created)
    }

    /// Another key and certificate for the coordinator, by the CA that signs now. Without names it keeps those that it has.
    pub fn renew_coordinator(&self, names: &[String], now: i64) -> Result<(), Error> {
        let loaded = self.now();
        let names = if names.is_empty() { loaded.names.clone() } else { with_local(names) };
        sign::check_names(&names)?;
        let signer = loaded.signer.as_ref().ok_or(Error::NoKey)?;
        let authority = self.signing_authority()?;
        write_coordinator(&self.folder, &names, signer, &authority, now)?;
        self.reload().map(drop)
    }

    /// Makes another CA that signs from now on. The CA before it is trusted until [`Authority::forget_former`], and the
    /// coordinator keeps its certificate, because clients know the new CA only after their next renewal.
    pub fn rotate(&self, now: i64) -> Result<(), Error> {
        let key = KeyPair::generate()?;
        let authority = sign::authority(&key, now)?.der().clone();
        let mut authorities = vec![authority];
        authorities.extend(self.now().authorities.iter().cloned());
        folder::write_public(&self.folder.join(folder::CA), &pem::of(&authorities))?;
        folder::write_secret(&self.folder.join(folder::CA_KEY), &key.serialize_pem())?;
        self.reload().map(drop)
    }

    /// Trusts only the CA that signs now, which must have signed the coordinator's certificate.
    pub fn forget_former(&self) -> Result<(), Error> {
        let authority = self.signing_authority()?;
        if crate::secret::sha256(&authority) != self.now().fingerprint {
            let path = self.folder.join(folder::COORDINATOR);
            let reason = "a former CA has signed it; renew it first, once every client has renewed its own".to_owned();
            return Err(Error::Content { path, reason });
        }
        folder::write_public(&self.folder.join(folder::CA), &pem::of(&[authority]))?;
        self.reload().map(drop)
    }

    /// From now on the identity with this id is refused, and its connections end.
    pub fn revoke(&self, id: &str) -> Result<(), Error> {
        let path = self.folder.join(folder::REVOKED);
        let mut text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::File { path, error }),
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(id);
        text.push('\n');
        folder::write_public(&path, &text)?;
        self.reload().map(drop)
    }

    /// The certificate of the CA whose key the folder has.
    fn signing_authority(&self) -> Result<CertificateDer<'static>, Error> {
        let loaded = self.now();
        let signer = loaded.signer.as_ref().ok_or(Error::NoKey)?;
        let key = signer.key().public_key_raw();
        // It was found when the folder was read.
        let its = loaded.authorities.iter().find(|authority| authority.windows(key.len()).any(|part| part == key));
        its.cloned().ok_or(Error::NoKey)
    }
}

fn with_local(names: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in names.iter().map(String::as_str).chain(LOCAL) {
        if !all.iter().any(|one| one == name) {
            all.push(name.to_owned());
        }
    }
    all
}

fn write_coordinator(
    place: &Path,
    names: &[String],
    issuer: &Issuer<'static, KeyPair>,
    authority: &CertificateDer<'static>,
    now: i64,
) -> Result<(), Error> {
    let key = KeyPair::generate()?;
    let certificate = sign::coordinator(names, &key, issuer, now)?.der().clone();
    let text = format!("{}{}", key.serialize_pem(), pem::of(&[certificate, authority.clone()]));
    folder::write_secret(&place.join(folder::COORDINATOR), &text)
}
