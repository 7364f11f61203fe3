//! The file of the history: it keeps each run once, is shared by processes, and refuses files that are not its own.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::{collections::BTreeMap, path::Path};

use history::{Added, Error, History};
use record::summary::{RunState, RunVerdict};
use sqlx::{ConnectOptions as _, Connection as _, query, sqlite::SqliteConnectOptions};
use statistics::{
    compare::played::PlayedTrial,
    nights::{Night, NightFailure},
};

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

/// Each reader checks the file while a writer makes its tables.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_file_is_never_seen_half_made() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..40 {
        let path = folder.path().join(format!("{round}.db"));
        let open = |path: std::path::PathBuf| async move { History::open(&path).await.map(drop) };
        let read = |path: std::path::PathBuf| async move {
            loop {
                match History::read(&path).await {
                    // Not made yet.
                    Err(Error::Missing(_)) => tokio::task::yield_now().await,
                    other => return other.map(drop),
                }
            }
        };
        let readers: Vec<_> = (0..3).map(|_| tokio::spawn(read(path.clone()))).collect();
        let writers: Vec<_> = (0..3).map(|_| tokio::spawn(open(path.clone()))).collect();
        for done in readers.into_iter().chain(writers) {
            done.await.unwrap().unwrap();
        }
    }
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

fn with_failure(night: Night) -> Night {
    night.with_failures(vec![NightFailure {
        signature: "0a1b".to_owned(),
        agent: "bot".to_owned(),
        verdict: record::Verdict::Fail,
        place: "turn 2".to_owned(),
        reason: "it promises a refund".to_owned(),
        trials: 3,
        cells: vec![0],
    }])
}

/// The tables as version 1 made them.
const VERSION_1: [&str; 5] = [
    "create table run (id text primary key not null, name text not null, started_at text not null, state text not null,
         verdict text not null, exit_code integer not null, facts text not null) strict",
    "create table cell (run text not null references run (id) on delete cascade, place integer not null, scenario text not null,
         persona text, agent text not null, planned integer not null, passed integer not null, failed integer not null,
         figures text not null, primary key (run, place)) strict, without rowid",
    "create index run_by_start on run (started_at, id)",
    "pragma application_id = 1734435432",
    "pragma user_version = 1",
];

/// Writes a run as version 1 did: its facts say nothing of failures and early decisions.
async fn write_version_1(path: &Path, night: &Night) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    for statement in VERSION_1 {
        query(statement).execute(&mut connection).await.unwrap();
    }
    let mut facts = serde_json::to_value(&night.run).unwrap();
    facts.as_object_mut().unwrap().remove("knows_failures").unwrap();
    query("insert into run values (?1, 'n', ?2, 'finished', 'FAIL', 1, ?3)")
        .bind(&night.run.id)
        .bind(&night.run.started_at)
        .bind(facts.to_string())
        .execute(&mut connection)
        .await
        .unwrap();
    for (place, cell) in night.cells.iter().enumerate() {
        query("insert into cell values (?1, ?2, 's', null, 'bot', 1, 1, 0, ?3)")
            .bind(&night.run.id)
            .bind(place as i64)
            .bind(serde_json::to_string(cell).unwrap())
            .execute(&mut connection)
            .await
            .unwrap();
    }
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_history_of_version_1_is_read_and_migrated_without_a_loss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let old = night("a", "2026-03-14T02:00:00Z");
    write_version_1(&path, &old).await;
    assert_eq!(all(&path).await, std::slice::from_ref(&old), "only read");
    let new = with_failure(night("b", "2026-03-15T02:00:00Z"));
    let mut history = History::open(&path).await.unwrap();
    history.keep(&new).await.unwrap();
    history.close().await.unwrap();
    assert_eq!(all(&path).await, [old.clone(), new.clone()]);

    // An import carries failures, and a run that lost them does not replace one that has them.
    let mut other = History::open(&folder.path().join("other.db")).await.unwrap();
    other.add(&[old.clone(), new.clone()]).await.unwrap();
    let poorer = Night { failures: Vec::new(), ..new.clone() };
    let poorer = Night { run: statistics::nights::NightRun { knows_failures: false, ..poorer.run }, ..poorer };
    assert_eq!(other.add(&[poorer]).await.unwrap(), Added { new: 0, replaced: 0, known: 1 });
    let richer = with_failure(old);
    assert_eq!(other.add(std::slice::from_ref(&richer)).await.unwrap(), Added { new: 0, replaced: 1, known: 0 });
    other.close().await.unwrap();
    assert_eq!(all(&folder.path().join("other.db")).await, [richer, new]);
    // A run that goes takes its failures with it.
    let mut history = History::open(&path).await.unwrap();
    assert_eq!(history.remove(&["b".to_owned()]).await.unwrap(), 1);
    history.close().await.unwrap();
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let left: i64 = sqlx::query_scalar("select count(*) from failure").fetch_one(&mut connection).await.unwrap();
    assert_eq!(left, 0);
}
