//! Paths as a fuzzer makes them: nothing is read or written outside of a trial's root.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Component, Path},
    sync::{Arc, LazyLock},
};

use tempfile::TempDir;

use super::{ProcessDirectory, Root, beneath, check};

/// What no path reaches, and the directory of all roots.
static OUTSIDE: LazyLock<(TempDir, Arc<ProcessDirectory>)> = LazyLock::new(|| {
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("secret"), "hidden").expect("a file");
    (outside, ProcessDirectory::current().expect("a folder"))
});

/// Reads an input: each line is a letter and a path. `w` writes a file, `r` reads one, `l` makes a link to the folder
/// outside as a program could, and `d` a folder.
///
/// # Panics
/// A path leads out of the root, a file is not read back as it was written, or two rules for paths disagree.
pub fn paths(input: &str) {
    let (outside, _kept) = &*OUTSIDE;
    let outside = outside.path();
    let root = Root::create(None).expect("a root");
    for (number, line) in input.split('\n').take(20).enumerate() {
        let mut letters = line.chars();
        let (Some(what), path) = (letters.next(), letters.as_str()) else { continue };
        agree(path);
        let text = format!("text {number}");
        match what {
            'w' if root.write(path, &text).is_ok() => {
                let place = beneath(path).expect("it was written");
                assert_eq!(fs::read_to_string(root.path().join(&place)).ok().as_deref(), Some(&*text), "{path:?}");
                assert_eq!(root.read(path).expect("it was written").as_deref(), Some(&*text), "{path:?}");
            }
            'r' => {
                let found = root.read(path).ok().flatten();
                assert!(found.is_none_or(|found| found.starts_with("text ")), "{path:?} is outside");
            }
            'l' => {
                if let Some(name) = plain(path) {
                    drop(symlink(outside, root.path().join(name)));
                }
            }
            'd' => {
                if let Some(name) = plain(path) {
                    drop(fs::create_dir(root.path().join(name)));
                }
            }
            _ => {}
        }
    }
    for (path, text) in root.files().expect("the files of the root") {
        assert!(text.starts_with("text "), "{path:?} is outside: {text}");
    }
    let left: Vec<_> = fs::read_dir(outside).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["secret"]);
    assert_eq!(fs::read_to_string(outside.join("secret")).ok().as_deref(), Some("hidden"));
}

/// A path that is taken has only names below the root.
fn agree(path: &str) {
    assert_eq!(check(path).is_ok(), beneath(path).is_ok());
    if let Ok(place) = beneath(path) {
        assert!(place.components().all(|part| matches!(part, Component::Normal(_))), "{path:?} is taken as {place:?}");
        assert_eq!(beneath(&place.to_string_lossy()).ok(), Some(place), "{path:?}");
    }
    // The rule that plans are read with takes no path that the worker refuses.
    if let Ok(place) = scenario::trial_path::beneath_root(path) {
        let place = Path::new(&place);
        assert!(place.components().all(|part| matches!(part, Component::Normal(_))), "{path:?} is taken as {place:?}");
        assert_eq!(beneath(&place.to_string_lossy()).ok().as_deref(), Some(place), "{path:?}");
    }
}

fn plain(name: &str) -> Option<&str> {
    let mut parts = Path::new(name).components();
    let only = (parts.next(), parts.next());
    matches!(only, (Some(Component::Normal(_)), None)).then_some(name).filter(|name| !name.contains('\0'))
}

#[cfg(test)]
mod tests {
    /// The inputs from which the fuzzer starts.
    #[test]
    fn seeds_are_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/paths");
        let seeds =
            std::fs::read_dir(folder).unwrap().map(|seed| std::fs::read_to_string(seed.unwrap().path()).unwrap());
        assert_eq!(seeds.inspect(|seed| super::paths(seed)).count(), 3);
    }
}
