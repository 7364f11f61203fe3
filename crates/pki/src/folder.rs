//! The files of a CA, of its coordinator, and of a client. Private keys are readable by their owner only.

use std::{
    fs::{self, DirBuilder, Permissions},
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::Path,
};

use crate::Error;

/// The certificates that are trusted: of the CA that signs, and of those before it.
pub const CA: &str = "ca.pem";
/// The key of the CA. A coordinator without it issues no certificates.
pub const CA_KEY: &str = "ca.key";
/// The coordinator's key and certificate, in one file, so that they always belong together.
pub const COORDINATOR: &str = "coordinator.pem";
/// A client's key and certificate, in one file.
pub const IDENTITY: &str = "identity.pem";
/// Ids of identities that are refused, one a line.
pub const REVOKED: &str = "revoked";
/// The identity of the person who made the CA.
pub const ADMIN: &str = "admin";

/// The largest file that is read: a bundle of certificates has a few kilobytes.
const LARGEST_BYTES: u64 = 1 << 20;
const OWNER_ONLY: u32 = 0o600;
const READABLE: u32 = 0o644;

/// Makes a folder that only its owner can read.
pub(crate) fn make(path: &Path) -> Result<(), Error> {
    let failed = |error| Error::File { path: path.to_owned(), error };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)
}

/// Makes a folder for an identity, and finds out whether it can be written: a token is not used in vain.
pub fn prepare(path: &Path) -> Result<(), Error> {
    make(path)?;
    let tried = tempfile::tempfile_in(path);
    tried.map(drop).map_err(|error| Error::File { path: path.to_owned(), error })
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |error| Error::File { path: path.to_owned(), error };
    let bytes = fs::metadata(path).map_err(failed)?.len();
    if bytes > LARGEST_BYTES {
        return Err(Error::Content { path: path.to_owned(), reason: format!("it has {bytes} bytes") });
    }
    fs::read(path).map_err(failed)
}

/// `None`: there is no such file.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match read(path) {
        Err(Error::File { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

pub(crate) fn write_secret(path: &Path, text: &str) -> Result<(), Error> {
    write(path, text, OWNER_ONLY)
}

pub(crate) fn write_public(path: &Path, text: &str) -> Result<(), Error> {
    write(path, text, READABLE)
}

/// Replaces a file at once, so that a reader sees the old or the new one. Nobody else can read it before it has its mode.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), Error> {
    let failed = |error| Error::File { path: path.to_owned(), error };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
