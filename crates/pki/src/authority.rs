//! The CA and the coordinator's certificate, as a folder has them now.

mod create;
mod loaded;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use rustls::{ClientConfig, ServerConfig, pki_types::CertificateDer};

use self::loaded::Loaded;
pub(crate) use self::loaded::provider;
use crate::{Caller, Credentials, Error, Identity, Issued, Peer, Request, Role, Token, folder, request, sign};

/// Reads a folder, signs requests with its CA, and knows who is refused. [`Authority::reload`] reads it again.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    loaded: RwLock<Arc<Loaded>>,
}

/// What a coordinator serves with, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    pub names: Vec<String>,
    /// Unix seconds.
    pub expires_at: i64,
    /// SHA-256 of the CA's certificate.
    pub fingerprint: String,
    /// How many CAs are trusted.
    pub authorities: usize,
    /// Whether certificates can be issued.
    pub signs: bool,
}

impl Authority {
    /// Whether the folder has what a coordinator needs.
    #[must_use]
    pub fn is_in(folder: &Path) -> bool {
        folder.join(folder::CA).exists() && folder.join(folder::COORDINATOR).exists()
    }

    pub fn open(folder: &Path) -> Result<Self, Error> {
        Ok(Self { folder: folder.to_owned(), loaded: RwLock::new(Arc::new(Loaded::read(folder)?)) })
    }

    /// Reads the folder again if its files have changed, and returns whether they had. What was read before stays if the
    /// new files do not fit together.
    pub fn reload(&self) -> Result<bool, Error> {
        if loaded::stamp(&self.folder) == self.now().stamp {
            return Ok(false);
        }
        let loaded = Arc::new(Loaded::read(&self.folder)?);
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(true)
    }

    /// For the next connection.
    #[must_use]
    pub fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.now().server)
    }

    /// For the next connection to another coordinator. `None`: the coordinator's certificate does not allow it, because an
    /// older gabfest or another program issued it.
    #[must_use]
    pub fn client(&self) -> Option<Arc<ClientConfig>> {
        self.now().client.clone()
    }

    #[must_use]
    pub fn served(&self) -> Served {
        let now = self.now();
        Served {
            names: now.names.clone(),
            expires_at: now.expires_at,
            fingerprint: const_hex::encode(now.fingerprint),
            authorities: now.authorities.len(),
            signs: now.signer.is_some(),
        }
    }

    /// Who is at the other end of a connection, by the certificates that it showed.
    pub fn peer(certificates: Option<&[CertificateDer<'_>]>) -> Result<Peer, Error> {
        match certificates.and_then(<[_]>::first) {
            Some(certificate) => Caller::of(certificate).map(Peer::Known),
            None => Ok(Peer::Unknown),
        }
    }

    /// Whether the identity is refused although its certificate is valid.
    #[must_use]
    pub fn is_revoked(&self, identity: &Identity) -> bool {
        self.now().revoked.contains(&identity.id)
    }

    /// A token by which its client recognises this CA. Who makes it remembers it, and redeems it once.
    pub fn token(&self, role: Role) -> Result<Token, Error> {
        let loaded = self.now();
        if loaded.signer.is_none() {
            return Err(Error::NoKey);
        }
        Token::random(role, loaded.fingerprint)
    }

    /// Whether the request of a client can be answered, so that no token is used in vain.
    pub fn check(&self, request: &[u8]) -> Result<(), Error> {
        request::public_key(request)?;
        if self.now().signer.is_none() {
            return Err(Error::NoKey);
        }
        Ok(())
    }

    /// A certificate for a new identity, whose token had this role. `now`: Unix milliseconds.
    pub fn admit(&self, role: Role, request: &[u8], name: &str, now: i64) -> Result<(Identity, Issued), Error> {
        let key = request::public_key(request)?;
        let identity = Identity::new(role, name)?;
        let issued = self.sign(&identity, &key, role.lifetime(), now)?;
        Ok((identity, issued))
    }

    /// Another certificate for the same identity.
    pub fn renew(&self, caller: &Caller, request: &[u8], now: i64) -> Result<Issued, Error> {
        if self.is_revoked(&caller.identity) {
            return Err(Error::Revoked(caller.identity.name.clone()));
        }
        let key = request::public_key(request)?;
        self.sign(&caller.identity, &key, caller.identity.role.lifetime(), now)
    }

    /// Credentials without a token, for a person who can read the folder.
    pub fn issue(&self, role: Role, name: &str, lifetime: Duration, now: i64) -> Result<Credentials, Error> {
        let request = Request::new()?;
        let key = request::public_key(request.bytes())?;
        let issued = self.sign(&Identity::new(role, name)?, &key, lifetime, now)?;
        request.answered(&issued)
    }

    fn sign(&self, identity: &Identity, key: &rcgen::PublicKey, lifetime: Duration, now: i64) -> Result<Issued, Error> {
        if identity.role == Role::Coordinator {
            return Err(Error::Request("it is for an identity of a coordinator".to_owned()));
        }
        let loaded = self.now();
        let signer = loaded.signer.as_ref().ok_or(Error::NoKey)?;
        let certificate = sign::client(identity, key, signer, now, lifetime)?;
        let authorities = loaded.authorities.iter().map(|one| one.to_vec()).collect();
        Ok(Issued { certificate: certificate.der().to_vec(), authorities })
    }

    fn now(&self) -> Arc<Loaded> {
        Arc::clone(&self.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
