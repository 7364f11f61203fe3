//! The file of the history: it keeps each run once, is shared by processes, and refuses files that are not its own.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::{collections::BTreeMap, path::Path};

use history::{Added, Error, History};
use record::summary::{RunState, RunVerdict};
use statistics::{compare::played::PlayedTrial, nights::Night};

/// A run of the stored report, under another id.
fn night(id: &str, started_at: &str) -> Night {
    let summary = statistics::stored::read(include_bytes!("../../../statistics/src/stored/version_1.json")).unwrap();
    let mut night = Night::of(&summary, 1, BTreeMap::from([("commit".to_owned(), "abc".to_owned())]));
    night.run.id = id.to_owned();
    night.run.started_at = started_at.to_owned();
    night.run.state = RunState::Finished;
    let trial =
        PlayedTrial { response_ms: vec![1.5, 20.0], unanswered: 1, cost_usd: Some(0.1), ..PlayedTrial::default() };
    night.add(0, &trial, true);
    night
}

async fn all(path: &Path) -> Vec<Night> {
    let mut history = History::read(path).await.unwrap();
    let runs = history.runs().await.unwrap();
    history.nights(runs).await.unwrap()
}

#[tokio::test]
async fn a_run_comes_back_as_it_was_kept_and_its_resume_replaces_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs/history.db");
    let mut history = History::open(&path).await.unwrap();
    let (second, mut first) = (night("b", "2026-03-15T02:00:00Z"), night("a", "2026-03-14T02:00:00Z"));
    first.run.state = RunState::Interrupted;
    history.keep(&second).await.unwrap();
    history.keep(&first).await.unwrap();
    first.run.state = RunState::Finished;
    first.run.verdict = RunVerdict::Pass;
    first.cells.truncate(1);
    history.keep(&first).await.unwrap();
    history.close().await.unwrap();
    assert!(!second.cells.is_empty() && second.cells[0].response.count() == 2 && second.cells[0].faulty == 1);
    assert_eq!(all(&path).await, [first, second], "the earliest first");
    let files: Vec<_> =
        std::fs::read_dir(path.parent().unwrap()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["history.db"], "it is one file");
}

#[tokio::test]
async fn runs_that_end_at_the_same_moment_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let path = path.clone();
            tokio::spawn(async move {
                let mut history = History::open(&path).await?;
                history.keep(&night(&format!("run-{number}"), "2026-03-14T02:00:00Z")).await
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    assert_eq!(all(&path).await.len(), 8);
}

#[tokio::test]
async fn runs_from_elsewhere_are_added_once_and_never_undo_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut history = History::open(&folder.path().join("history.db")).await.unwrap();
    let whole = night("a", "2026-03-14T02:00:00Z");
    let mut part = whole.clone();
    part.run.state = RunState::Interrupted;
    let other = night("b", "2026-03-15T02:00:00Z");
    let added = |new, replaced, known| Added { new, replaced, known };
    assert_eq!(history.add(&[part.clone(), other.clone()]).await.unwrap(), added(2, 0, 0));
    assert_eq!(history.add(&[whole.clone(), other]).await.unwrap(), added(0, 1, 1));
    assert_eq!(history.add(&[part]).await.unwrap(), added(0, 0, 1));
    assert_eq!(history.runs().await.unwrap()[0], whole.run);
    assert_eq!(history.remove(&["a".to_owned(), "gone".to_owned()]).await.unwrap(), 1);
    let left = history.runs().await.unwrap();
    assert_eq!(left.len(), 1);
    let nights = history.nights(vec![whole.run]).await.unwrap();
    assert!(nights[0].cells.is_empty(), "its cells are gone with it");
}

#[tokio::test]
async fn files_of_others_and_of_newer_versions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = History::read(&folder.path().join("none.db")).await.unwrap_err();
    assert!(matches!(missing, Error::Missing(_)), "{missing}");
    let text = folder.path().join("notes.db");
    std::fs::write(&text, "not a database, but long enough to be read as the header of one".repeat(20)).unwrap();
    for error in [History::read(&text).await.unwrap_err(), History::open(&text).await.unwrap_err()] {
        assert!(error.to_string().contains("notes.db is not a history of gabfest"), "{error}");
    }
    let path = folder.path().join("history.db");
    History::open(&path).await.unwrap().close().await.unwrap();
    // The version is the fourth byte of this number of SQLite's header.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[63] = 99;
    std::fs::write(&path, &bytes).unwrap();
    for error in [History::read(&path).await.unwrap_err(), History::open(&path).await.unwrap_err()] {
        assert!(error.to_string().contains("history.db was written by a newer gabfest\nhint: "), "{error}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "it is left as it is");
}
