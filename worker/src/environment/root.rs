//! The directory of one trial. No path leads out of it, and no link is followed.

use std::{
    collections::BTreeMap,
    io::{self, Read as _},
    os::unix::fs::lchown,
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::{ambient_authority, fs::Dir};
use tempfile::TempDir;

use super::process_directory::ProcessDirectory;

/// Of one file that is written or read.
const FILE_BYTES: u64 = 16 << 20;
/// Of one file, of all files, and the number of files that a capture holds.
const CAPTURED_FILE_BYTES: u64 = 1 << 20;
const CAPTURED_BYTES: u64 = 8 << 20;
const CAPTURED_FILES: usize = 1_000;

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("the path {0:?} names no file")]
    Empty(String),
    #[error("the path {0:?} leaves the trial's files")]
    Leaves(String),
    #[error("{0:?} is reached through a link, and links are not followed")]
    Link(String),
    #[error("{0:?} is larger than {FILE_BYTES} bytes")]
    TooLarge(String),
    #[error("{path:?}: {source}")]
    Io { path: String, source: io::Error },
    #[error("the trial's directory: {0}")]
    Directory(io::Error),
}

/// A user of the system, by number.
pub(super) type User = u32;

#[derive(Debug)]
pub(super) struct Root {
    directory: TempDir,
    /// The owner of everything inside, if not the worker's user.
    owner: Option<User>,
    /// Every file is opened through this handle: the kernel keeps it below the root, whatever the path says.
    inside: Dir,
    /// Goes last.
    _parent: Arc<ProcessDirectory>,
}

impl Root {
    pub(super) fn create(owner: Option<User>) -> Result<Self, Error> {
        let parent = ProcessDirectory::current().map_err(Error::Directory)?;
        let directory =
            tempfile::Builder::new().prefix("trial-").tempdir_in(parent.path()).map_err(Error::Directory)?;
        let inside = Dir::open_ambient_dir(directory.path(), ambient_authority()).map_err(Error::Directory)?;
        let root = Self { directory, owner, inside, _parent: parent };
        root.give("").map_err(Error::Directory)?;
        Ok(root)
    }

    /// Gives written files and their directories to the owner.
    fn give(&self, place: impl AsRef<Path>) -> io::Result<()> {
        let Some(owner) = self.owner else { return Ok(()) };
        let all = place.as_ref().ancestors();
        all.into_iter().try_for_each(|part| lchown(self.path().join(part), Some(owner), Some(owner)))
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn write(&self, path: &str, text: &str) -> Result<(), Error> {
        let place = beneath(path)?;
        if text.len() as u64 > FILE_BYTES {
            return Err(Error::TooLarge(path.to_owned()));
        }
        self.refuse_links(path, &place)?;
        let io = |source| Error::Io { path: path.to_owned(), source };
        if let Some(parent) = place.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            self.inside.create_dir_all(parent).map_err(io)?;
        }
        self.inside.write(&place, text).map_err(io)?;
        self.give(&place).map_err(io)
    }

    /// `None` if there is no such file. Bytes that are not UTF-8 are replaced.
    pub(super) fn read(&self, path: &str) -> Result<Option<String>, Error> {
        let place = beneath(path)?;
        self.refuse_links(path, &place)?;
        let io = |source| Error::Io { path: path.to_owned(), source };
        match self.inside.symlink_metadata(&place) {
            // Opening a pipe would block until a writer opens it.
            Ok(about) if !about.is_file() => Ok(None),
            Ok(about) if about.len() > FILE_BYTES => Err(Error::TooLarge(path.to_owned())),
            Ok(_) => Ok(Some(String::from_utf8_lossy(&self.bytes(&place, FILE_BYTES).map_err(io)?).into_owned())),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(io(error)),
        }
    }

    /// Every file below the root, without links.
    pub(super) fn files(&self) -> Result<BTreeMap<String, String>, Error> {
        let mut files = BTreeMap::new();
        let mut room = CAPTURED_BYTES;
        let mut directories = vec![PathBuf::new()];
        while let Some(directory) = directories.pop() {
            let io = |source| Error::Io { path: directory.to_string_lossy().into_owned(), source };
            let here = if directory.as_os_str().is_empty() { Path::new(".") } else { &directory };
            for entry in self.inside.read_dir(here).map_err(io)? {
                let entry = entry.map_err(io)?;
                let kind = entry.file_type().map_err(io)?;
                let path = directory.join(entry.file_name());
                if kind.is_dir() {
                    directories.push(path);
                } else if kind.is_file() && files.len() < CAPTURED_FILES {
                    let text = self.captured(&path, &mut room);
                    files.insert(path.to_string_lossy().into_owned(), text);
                }
            }
        }
        Ok(files)
    }

    fn captured(&self, path: &Path, room: &mut u64) -> String {
        match self.inside.symlink_metadata(path) {
            Ok(about) if about.is_file() && about.len() > CAPTURED_FILE_BYTES.min(*room) => {
                format!("[{} bytes]", about.len())
            }
            Ok(about) if about.is_file() => {
                let text = self.bytes(path, CAPTURED_FILE_BYTES).ok().and_then(|bytes| String::from_utf8(bytes).ok());
                *room = room.saturating_sub(about.len());
                text.unwrap_or_else(|| "[binary or unreadable]".to_owned())
            }
            Ok(_) | Err(_) => "[binary or unreadable]".to_owned(),
        }
    }

    fn bytes(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.inside.open(path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// A link to a place below the root would not lead out of it, but could hide that a file is missing.
    fn refuse_links(&self, path: &str, place: &Path) -> Result<(), Error> {
        for part in place.ancestors().filter(|part| !part.as_os_str().is_empty()) {
            match self.inside.symlink_metadata(part) {
                Ok(about) if about.is_symlink() => return Err(Error::Link(path.to_owned())),
                Ok(_) => {}
                Err(error) if is_absent(&error) => {}
                // A link further up that leads outside makes everything below it unreachable.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(Error::Link(path.to_owned()));
                }
                Err(source) => return Err(Error::Io { path: path.to_owned(), source }),
            }
        }
        Ok(())
    }
}

/// Whether a path is allowed, before there is a root.
pub(super) fn check(path: &str) -> Result<(), Error> {
    beneath(path).map(drop)
}

/// The path below the root, where `/` is the root itself. `..` may not leave it.
fn beneath(path: &str) -> Result<PathBuf, Error> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return Err(Error::Leaves(path.to_owned())),
            ".." => {}
            part if part.contains('\0') => return Err(Error::Empty(path.to_owned())),
            part => parts.push(part),
        }
    }
    if parts.is_empty() { Err(Error::Empty(path.to_owned())) } else { Ok(parts.iter().collect()) }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(any(test, fuzzing))]
pub mod fuzzing;

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn paths_are_taken_beneath_the_root_or_refused() {
        for (path, expected) in [
            ("a.txt", Some("a.txt")),
            ("./a.txt", Some("a.txt")),
            ("/etc/passwd", Some("etc/passwd")),
            ("a//b/./c", Some("a/b/c")),
            ("a/../b", Some("b")),
            ("a/", Some("a")),
            ("..a/b..", Some("..a/b..")),
            ("..", None),
            ("../a", None),
            ("a/../../b", None),
            ("/../a", None),
            ("", None),
            ("/", None),
            (".", None),
            ("a/..", None),
            ("a\0b", None),
        ] {
            assert_eq!(beneath(path).ok().as_deref(), expected.map(Path::new), "{path:?}");
        }
    }

    #[test]
    fn files_come_back_as_they_were_written() {
        let root = Root::create(None).unwrap();
        root.write("/deep/down/a.txt", "ä\n").unwrap();
        root.write("b", "").unwrap();
        assert_eq!(root.read("deep/down/../down/a.txt").unwrap().as_deref(), Some("ä\n"));
        assert_eq!(root.read("b").unwrap().as_deref(), Some(""));
        for absent in ["c", "deep", "b/c", "deep/x/y"] {
            assert_eq!(root.read(absent).unwrap(), None, "{absent}");
        }
        assert!(root.write("b/c", "under a file").is_err());
        assert!(root.write("deep", "over a directory").is_err());
        fs::write(root.path().join("binary"), [0xff, 0xfe, 0x00]).unwrap();
        assert!(root.read("binary").unwrap().is_some());
        let expected = [("b", ""), ("binary", "[binary or unreadable]"), ("deep/down/a.txt", "ä\n")];
        let expected: BTreeMap<_, _> = expected.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        assert_eq!(root.files().unwrap(), expected);
    }

    #[test]
    fn no_link_and_no_path_leads_out() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "hidden").unwrap();
        let root = Root::create(None).unwrap();
        root.write("own", "mine").unwrap();
        fs::create_dir(root.path().join("dir")).unwrap();
        let up = format!("../{}/secret", outside.path().file_name().unwrap().to_string_lossy());
        symlink(outside.path().join("secret"), root.path().join("absolute")).unwrap();
        symlink(&up, root.path().join("relative")).unwrap();
        symlink(outside.path(), root.path().join("folder")).unwrap();
        symlink(outside.path(), root.path().join("dir/folder")).unwrap();
        symlink("own", root.path().join("inner")).unwrap();
        symlink("nowhere", root.path().join("dangling")).unwrap();
        for path in
            ["absolute", "relative", "folder/secret", "dir/folder/secret", "inner", "dangling", "dir/../relative"]
        {
            assert!(matches!(root.read(path), Err(Error::Link(_))), "{path}: {:?}", root.read(path));
            assert!(matches!(root.write(path, "changed"), Err(Error::Link(_))), "{path}");
        }
        for path in ["../secret", up.as_str(), "dir/../../x"] {
            assert!(matches!(root.read(path), Err(Error::Leaves(_))), "{path}");
            assert!(matches!(root.write(path, "changed"), Err(Error::Leaves(_))), "{path}");
        }
        assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "hidden");
        assert_eq!(root.files().unwrap().keys().collect::<Vec<_>>(), ["own"]);
        // The capability holds even if the path check loses the race.
        assert!(root.inside.open("absolute").is_err());
        assert!(root.inside.open("folder/secret").is_err());
    }

    #[test]
    fn large_files_are_named_and_not_held() {
        let root = Root::create(None).unwrap();
        let large = fs::File::create(root.path().join("large")).unwrap();
        large.set_len(FILE_BYTES + 1).unwrap();
        assert!(matches!(root.read("large"), Err(Error::TooLarge(_))));
        assert_eq!(root.files().unwrap()["large"], "[16777217 bytes]");
        for number in 0..CAPTURED_FILES + 5 {
            root.write(&format!("many/{number}"), "x").unwrap();
        }
        assert!(root.files().unwrap().len() <= CAPTURED_FILES + 1);
        let full = "x".repeat(CAPTURED_FILE_BYTES as usize);
        let root = Root::create(None).unwrap();
        for number in 0..10 {
            root.write(&number.to_string(), &full).unwrap();
        }
        let held: usize = root.files().unwrap().values().map(String::len).sum();
        assert!(held as u64 <= CAPTURED_BYTES + 100, "{held}");
    }
}
