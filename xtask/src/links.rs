//! Checks that the pages refer to existing things: links, their anchors, and paths of files.

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    /// Folders of this repository: a path in backticks that begins with one of them is a file or folder here.
    const FOLDERS: &[&str] =
        &["bench/", "coordinator/", "crates/", "deploy/", "docs/", "fuzz/", "grafana/", "proto/", "worker/", "xtask/"];

    /// Placeholders for the name of a file.
    const PLACEHOLDERS: &[&str] = &["NAME", "KIND"];

    #[test]
    fn links_lead_somewhere() {
        let mut broken = Vec::new();
        for page in pages() {
            let text = fs::read_to_string(&page).unwrap();
            // `#?` is no anchor but a link of a knowledge base, in an example.
            for link in links(&without_code(&text)).into_iter().filter(|link| !link.starts_with("#?")) {
                let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
                let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
                let found = target.exists() && (anchor.is_empty() || anchors(&target).iter().any(|it| it == anchor));
                if !found && !link.contains("://") {
                    broken.push(format!("{}: {link}", page.display()));
                }
            }
        }
        assert!(broken.is_empty(), "{broken:#?}");
    }

    #[test]
    fn files_that_pages_name_exist() {
        let mut missing = Vec::new();
        for page in pages() {
            let text = fs::read_to_string(&page).unwrap();
            for path in text.split('`').skip(1).step_by(2).filter_map(|code| code.split_whitespace().next()) {
                let is_one = !path.contains(['*', '{', '…']) && !PLACEHOLDERS.iter().any(|word| path.contains(word));
                let is_ours = is_one && FOLDERS.iter().any(|folder| path.starts_with(folder));
                if is_ours && !root().join(path.split("::").next().unwrap_or(path)).exists() {
                    missing.push(format!("{}: {path}", page.display()));
                }
            }
        }
        assert!(missing.is_empty(), "{missing:#?}");
    }

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
    }

    /// The pages that people read first, and all of docs/.
    fn pages() -> Vec<PathBuf> {
        let mut pages = Vec::new();
        for folder in ["", "docs", "docs/design"] {
            let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
            pages.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
        }
        assert!(pages.len() > 15, "{pages:?}");
        pages
    }

    /// Without fenced blocks and code spans, in which brackets mean something else.
    fn without_code(text: &str) -> String {
        let outside: Vec<&str> = text.split("\n```").step_by(2).collect();
        outside.join("\n").split('`').step_by(2).collect()
    }

    fn links(text: &str) -> Vec<String> {
        text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
    }

    /// As GitHub names headings: lower case, hyphens for spaces, and no other marks.
    fn anchors(page: &Path) -> Vec<String> {
        let text = fs::read_to_string(page).unwrap_or_default();
        let headings =
            text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
        let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ' ');
        headings
            .map(|heading| heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-"))
            .collect()
    }
}
