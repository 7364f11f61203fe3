//! Random bytes, their text, and their digest.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

use crate::Error;

pub(crate) type Fingerprint = [u8; 32];

pub(crate) fn random<const BYTES: usize>() -> Result<[u8; BYTES], Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(Error::Random)?;
    Ok(bytes)
}

pub(crate) fn sha256(bytes: &[u8]) -> Fingerprint {
    Sha256::digest(bytes).into()
}

pub(crate) fn to_text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn from_text<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}
