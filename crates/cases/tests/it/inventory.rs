//! The table of claims held against the files and the tests that there are.

use std::path::{Path, PathBuf};

use crate::claims::{CLAIMS, Claim};

#[test]
fn every_test_that_is_named_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (pattern, claim) in CLAIMS {
        match claim {
            Claim::Test(file, name) => {
                let text = std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
                assert!(text.contains(&format!("fn {name}(")), "{pattern}: {file} has no test `{name}`");
            }
            Claim::Nobody(reason) => assert!(!reason.is_empty(), "{pattern} has no reason"),
        }
    }
}

#[test]
fn every_file_is_opened_or_has_a_reason() {
    let Some(root) = cases::folder("", "the list of all real files") else { return };
    let mut files = Vec::new();
    walk(&root, &mut files);
    let names: Vec<String> =
        files.iter().map(|path| path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/")).collect();
    let unclaimed: Vec<&String> =
        names.iter().filter(|name| !CLAIMS.iter().any(|(pattern, _)| fits(pattern, name))).collect();
    assert!(unclaimed.is_empty(), "no test opens {unclaimed:#?}");
    for (pattern, _) in CLAIMS {
        assert!(names.iter().any(|name| fits(pattern, name)), "there is no file {pattern}");
    }
}

/// At most one `*`, which stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
        None => pattern == name,
    }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, files) } else { files.push(path) }
    }
}
