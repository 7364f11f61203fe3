//! The tokens that a coordinator accepts, as files: each is the digest of a secret, with its role and its end.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{Error, Role, Token, folder, secret};

/// Files of tokens are kept for so long after their end, so that a late client gets the true reason.
const KEPT_MILLIS: i64 = 24 * 3_600 * 1_000;
const LIVE: &str = "json";
const USED: &str = "used";

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    role: String,
    /// Unix milliseconds.
    expires_at: i64,
}

pub(crate) fn add(pki: &Path, token: &Token, expires_at: i64, now: i64) -> Result<(), Error> {
    let place = pki.join(folder::TOKENS);
    folder::make(&place)?;
    forget_old(&place, now);
    let kept = Kept { role: token.role().name().to_owned(), expires_at };
    let text = serde_json::to_string(&kept).unwrap_or_default();
    folder::write_secret(&file(&place, token.secret(), LIVE), &text)
}

/// The role of the token, once. Renaming a file succeeds for one caller only.
pub(crate) fn redeem(pki: &Path, secret: &[u8], now: i64) -> Result<Role, Error> {
    let place = pki.join(folder::TOKENS);
    let (live, used) = (file(&place, secret, LIVE), file(&place, secret, USED));
    let Some(bytes) = folder::read_if_there(&live)? else {
        return Err(if used.exists() { Error::UsedToken } else { Error::UnknownToken });
    };
    let kept: Kept = serde_json::from_slice(&bytes).map_err(|_| Error::UnknownToken)?;
    let role = Role::named(&kept.role).ok_or(Error::UnknownToken)?;
    if now >= kept.expires_at {
        return Err(Error::ExpiredToken);
    }
    match fs::rename(&live, &used) {
        Ok(()) => Ok(role),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Error::UsedToken),
        Err(error) => Err(Error::File { path: live, error }),
    }
}

fn file(place: &Path, secret: &[u8], state: &str) -> PathBuf {
    place.join(format!("{}.{state}", secret::hex(&secret::sha256(secret))))
}

/// What cannot be read or removed stays: the next token tries again.
fn forget_old(place: &Path, now: i64) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let kept = folder::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
        if kept.is_some_and(|kept| now > kept.expires_at.saturating_add(KEPT_MILLIS)) {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_once_and_until_its_end_and_its_file_has_no_secret() {
        let place = tempfile::tempdir().unwrap();
        let pki = place.path();
        let token = Token::random(Role::Submit, [0; 32]).unwrap();
        add(pki, &token, 1_000, 0).unwrap();
        let other = Token::random(Role::Submit, [0; 32]).unwrap();
        assert!(matches!(redeem(pki, other.secret(), 0), Err(Error::UnknownToken)));
        assert!(matches!(redeem(pki, token.secret(), 1_000), Err(Error::ExpiredToken)));
        assert_eq!(redeem(pki, token.secret(), 999).unwrap(), Role::Submit);
        assert!(matches!(redeem(pki, token.secret(), 999), Err(Error::UsedToken)));
        for entry in fs::read_dir(pki.join("tokens")).unwrap() {
            let path = entry.unwrap().path();
            let text = format!("{}{}", path.display(), fs::read_to_string(&path).unwrap());
            assert!(!text.contains(&secret::to_text(token.secret())) && !text.contains(&secret::hex(token.secret())));
        }
        add(pki, &other, 0, KEPT_MILLIS + 2_000).unwrap();
        assert_eq!(fs::read_dir(pki.join("tokens")).unwrap().count(), 1, "old ones are removed");
    }

    #[test]
    fn of_many_that_redeem_a_token_at_once_one_succeeds() {
        let place = tempfile::tempdir().unwrap();
        let token = Token::random(Role::Worker, [0; 32]).unwrap();
        add(place.path(), &token, 1_000, 0).unwrap();
        let redeemed: usize = std::thread::scope(|scope| {
            let tries: Vec<_> =
                (0..16).map(|_| scope.spawn(|| redeem(place.path(), token.secret(), 0).is_ok())).collect();
            tries.into_iter().map(|one| usize::from(one.join().unwrap())).sum()
        });
        assert_eq!(redeemed, 1);
    }
}
