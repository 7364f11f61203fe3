//! The directory of this process, which holds the directories of its trials, and the removal of directories of killed
//! processes.
//!
//! A lock on a file inside marks the process as alive. The system releases the lock however the process ends, so the next
//! start finds the directories without an owner and removes them.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};

const NAME: &str = "gabfest-";
/// The prefix until the lock is held: a sweep ignores such a directory.
const UNFINISHED: &str = "new-gabfest-";
const LOCK: &str = "lock";

/// One for all running trials; removed with the last of them.
static CURRENT: Mutex<Weak<ProcessDirectory>> = Mutex::new(Weak::new());

#[derive(Debug)]
pub(super) struct ProcessDirectory {
    path: PathBuf,
    _lock: File,
}

impl ProcessDirectory {
    pub(super) fn current() -> io::Result<Arc<Self>> {
        let mut known = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = known.upgrade() {
            return Ok(directory);
        }
        let directory = Arc::new(Self::build(&std::env::temp_dir())?);
        *known = Arc::downgrade(&directory);
        Ok(directory)
    }

    fn build(parent: &Path) -> io::Result<Self> {
        let unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(parent)?;
        let lock = File::create_new(unfinished.path().join(LOCK))?;
        lock.lock()?;
        // Programs may enter a directory inside it, but not list it.
        fs::set_permissions(unfinished.path(), fs::Permissions::from_mode(0o711))?;
        let name = unfinished.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = parent.join(name.trim_start_matches("new-"));
        fs::rename(unfinished.path(), &path)?;
        // The directory was renamed, so dropping this value must not remove it.
        drop(unfinished.keep());
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ProcessDirectory {
    fn drop(&mut self) {
        // A later start sweeps what cannot be removed now.
        drop(fs::remove_dir_all(&self.path));
    }
}

/// Removes the directories of killed processes of this user. Returns how many there were.
pub(super) fn sweep() -> usize {
    sweep_in(&std::env::temp_dir())
}

fn sweep_in(parent: &Path) -> usize {
    let Ok(entries) = fs::read_dir(parent) else { return 0 };
    let user = rustix::process::geteuid().as_raw();
    let is_ours = |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.is_dir() && about.uid() == user);
    let named = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(NAME));
    let paths = named.map(|entry| entry.path()).filter(|path| is_ours(path));
    paths.filter(|path| is_left(path) && fs::remove_dir_all(path).is_ok()).count()
}

/// Whether its lock is free. A directory without a lock is not ours.
fn is_left(path: &Path) -> bool {
    let lock = path.join(LOCK);
    let is_file = fs::symlink_metadata(&lock).is_ok_and(|about| about.is_file());
    is_file && File::open(&lock).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_killed_processes_are_swept() {
        let parent = tempfile::tempdir().unwrap();
        let lives = ProcessDirectory::build(parent.path()).unwrap();
        let killed = ProcessDirectory::build(parent.path()).unwrap();
        let left = killed.path().to_owned();
        fs::create_dir_all(left.join("trial-1/deep")).unwrap();
        fs::write(left.join("trial-1/deep/file"), "x").unwrap();
        // Another process would have the same name of a lock and no lock on it.
        let copy = parent.path().join("gabfest-copy");
        fs::rename(&left, &copy).unwrap();
        drop(killed);
        for stranger in ["gabfest-without-lock", "other", "new-gabfest-x"] {
            fs::create_dir(parent.path().join(stranger)).unwrap();
        }
        assert_eq!(sweep_in(parent.path()), 1);
        assert!(!copy.exists());
        assert!(lives.path().join(LOCK).exists());
        for stranger in ["gabfest-without-lock", "other", "new-gabfest-x"] {
            assert!(parent.path().join(stranger).exists(), "{stranger}");
        }
        let path = lives.path().to_owned();
        drop(lives);
        assert!(!path.exists());
    }
}
