//! Names what a command runs: its words, and the content of the files among them.

use std::path::Path;

use scenario::Digest;
use tokio::fs;

/// The content of a larger file does not count, only its size: an interpreter can have hundreds of megabytes.
const MOST_BYTES: u64 = 4 << 20;

/// 16 hex digits. A word is a file if there is one with this name, relative to the `folder`.
pub(super) async fn of(folder: &Path, command: &[String]) -> String {
    let mut text = String::new();
    for word in command {
        let content = content(&folder.join(word)).await;
        text.push_str(&format!("{word:?} {content}\n"));
    }
    Digest::of(text.as_bytes()).short().to_owned()
}

async fn content(path: &Path) -> String {
    match fs::metadata(path).await {
        Ok(about) if about.is_file() && about.len() <= MOST_BYTES => match fs::read(path).await {
            Ok(bytes) => Digest::of(&bytes).as_str().to_owned(),
            Err(error) => format!("{:?}", error.kind()),
        },
        Ok(about) if about.is_file() => format!("{} bytes", about.len()),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn words_and_the_content_of_files_count() {
        let folder = tempfile::tempdir().unwrap();
        let command = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let python = command(&["python3", "totals.py"]);
        let digest = async |command: &[String]| of(folder.path(), command).await;
        let missing = digest(&python).await;
        std::fs::write(folder.path().join("totals.py"), "print(1)").unwrap();
        let first = digest(&python).await;
        assert_eq!((first.len(), &first), (16, &digest(&python).await));
        std::fs::write(folder.path().join("totals.py"), "print(2)").unwrap();
        let second = digest(&python).await;
        let more = digest(&command(&["python3", "totals.py", "--strict"])).await;
        let joined = digest(&command(&["python3 totals.py"])).await;
        let all = std::collections::BTreeSet::from([missing, first, second, more, joined]);
        assert_eq!(all.len(), 5);
    }
}
