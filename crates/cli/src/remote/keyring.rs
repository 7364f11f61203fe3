//! The credentials of this process, which change when they are renewed.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use anyhow::{Context as _, anyhow};
use pki::Credentials;
use tokio_rustls::rustls::ClientConfig;

use crate::exit::usage;

#[derive(Debug, Clone)]
pub(crate) struct Keyring {
    folder: PathBuf,
    credentials: Arc<RwLock<Credentials>>,
}

impl Keyring {
    pub(super) fn open(folder: &Path) -> anyhow::Result<Self> {
        if !Credentials::is_in(folder) {
            return Err(usage(anyhow!(
                "there is no identity in {}\nhint: a coordinator with TLS needs one: ask for a join token and use it with `gabfest pki join`, or name its folder with --identity",
                folder.display()
            )));
        }
        let credentials = Credentials::load(folder).context("failed to read the identity").map_err(usage)?;
        Ok(Self { folder: folder.to_owned(), credentials: Arc::new(RwLock::new(credentials)) })
    }

    pub(crate) fn credentials(&self) -> Credentials {
        self.credentials.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What each new connection uses.
    pub(super) fn configs(&self) -> impl Fn() -> Arc<ClientConfig> + Send + 'static {
        let keyring = self.clone();
        move || keyring.credentials().config()
    }

    /// Uses what the folder has if it is valid for longer: another process, or a secret that is mounted there, renewed it.
    pub(super) fn look(&self) {
        match Credentials::load(&self.folder) {
            Ok(there) if there.expires_at() > self.credentials().expires_at() => self.set(there),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "the identity cannot be read again"),
        }
    }

    /// Uses and keeps new credentials. A folder that cannot be written costs only a start after the present ones expire.
    pub(super) fn replace(&self, credentials: Credentials) {
        if let Err(error) = credentials.save(&self.folder) {
            tracing::warn!(%error, "the renewed certificate is not written");
        }
        self.set(credentials);
    }

    fn set(&self, credentials: Credentials) {
        *self.credentials.write().unwrap_or_else(PoisonError::into_inner) = credentials;
    }
}
