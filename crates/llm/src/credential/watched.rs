//! A key in a file: read again when the file changes, as mounted secrets do when they are rotated.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;

use crate::key::KeyRef;

/// The pause between two looks at the file. After a refused key the file is read at once.
const LOOKED_AT_EVERY: Duration = Duration::from_secs(1);

/// When the file was written, and its size.
type Stamp = (Option<SystemTime>, u64);

#[derive(Debug)]
pub(super) struct Watched {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    key: SecretString,
    stamp: Option<Stamp>,
    looked_at: Instant,
}

impl Watched {
    /// `key` is the current content of the file.
    pub(super) fn new(path: PathBuf, key: SecretString) -> Self {
        let state = State { key, stamp: stamp(&path), looked_at: Instant::now() };
        Self { path, state: Mutex::new(state) }
    }

    /// The current key. While the file is missing or empty, as in the middle of a rotation, the last key applies.
    pub(super) fn key(&self) -> SecretString {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked_at.elapsed() >= LOOKED_AT_EVERY {
            state.looked_at = Instant::now();
            let stamp = stamp(&self.path);
            if stamp != state.stamp
                && let Some(key) = self.read()
            {
                (state.key, state.stamp) = (key, stamp);
            }
        }
        state.key.clone()
    }

    /// The key of the file, if it is another one than this.
    pub(super) fn another(&self, refused: &SecretString) -> Option<SecretString> {
        let stamp = stamp(&self.path);
        let key = self.read().filter(|key| key.expose_secret() != refused.expose_secret())?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.key, state.stamp, state.looked_at) = (key.clone(), stamp, Instant::now());
        Some(key)
    }

    fn read(&self) -> Option<SecretString> {
        KeyRef::File(self.path.clone()).resolve().ok()
    }
}

/// For a link, the stamp of its target: mounted secrets are swapped by a link.
fn stamp(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().map(|about| (about.modified().ok(), about.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_file_is_looked_at_once_a_second() {
        let folder = std::env::temp_dir().join(format!("gabfest-watched-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("key");
        fs::write(&path, "first\n").unwrap();
        let watched = Watched::new(path.clone(), SecretString::from("first"));
        let key = || watched.key().expose_secret().to_owned();

        fs::write(&path, "second, longer\n").unwrap();
        assert_eq!(key(), "first", "not before a second is over");
        tokio::time::advance(LOOKED_AT_EVERY).await;
        assert_eq!(key(), "second, longer");

        // In the middle of a rotation the last key holds, and the next one is found.
        fs::write(&path, "").unwrap();
        tokio::time::advance(LOOKED_AT_EVERY).await;
        assert_eq!(key(), "second, longer");
        fs::remove_file(&path).unwrap();
        tokio::time::advance(LOOKED_AT_EVERY).await;
        assert_eq!(key(), "second, longer");
        fs::write(&path, "third").unwrap();
        tokio::time::advance(LOOKED_AT_EVERY).await;
        assert_eq!(key(), "third");

        // After a refused key the file is read at once, and only a different key helps.
        let third = SecretString::from("third");
        assert!(watched.another(&third).is_none());
        fs::write(&path, "fourth and last").unwrap();
        assert_eq!(watched.another(&third).unwrap().expose_secret(), "fourth and last");
        assert_eq!(key(), "fourth and last");
        fs::remove_dir_all(&folder).unwrap();
    }
}
