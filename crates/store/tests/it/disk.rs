//! Situations of a store on disk: another process, another version, a full disk, a `kill -9`.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use record::{Usd, summary::RunState};
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use store::{Error, Part, Piece, Sqlite, Store};
use tempfile::TempDir;

use crate::samples::{PLAN, batch, id, lease, run, token, trial, whole_segments, words};

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs/gabfest.db");
    (folder, path)
}

/// A store of version 0.1.0: one run, with the turns of its trials 3 and 4 in two whole segments.
async fn of_version_0_1_0(path: &Path) {
    Sqlite::open(path).await.unwrap().close().await.unwrap();
    let mut connection = raw(path).await;
    let statements = [
        "drop trigger keep_replaced",
        "drop table join_token",
        "drop table replaced",
        "alter table run drop column deleted",
        "drop table piece",
        "alter table spend drop column estimated_calls",
        "alter table spend drop column tries",
        "alter table spend drop column throttled_tries",
        "alter table spend drop column wait_micros",
        "alter table spend drop column cached_input_tokens",
        "alter table spend drop column cache_write_tokens",
        "alter table spend drop column reasoning_tokens",
        "alter table spend drop column plain_priced_calls",
        "alter table spend drop column cut_calls",
        "alter table spend drop column reported_cost_nanos",
        "alter table run drop column exhausted",
        "alter table run drop column preflight",
        "alter table run drop column load_began_at",
        "alter table run drop column runner",
        "alter table run drop column max_cost_nanos",
        "drop table day_requests",
        "drop table slice",
        "drop table decision",
        "drop index trial_again",
        "drop index trial_replaced",
        "alter table trial drop column replay",
        "alter table trial drop column again",
        "alter table trial drop column replays_left",
        "alter table trial drop column replaced",
        "alter table trial drop column replaced_failed",
        "alter table trial drop column replaced_broken",
        "alter table attempt drop column given_up",
        "alter table attempt drop column begun",
        "alter table session drop column last_seen",
        "alter table session drop column token",
        "alter table lease drop column begun",
        "alter table segment drop column first_piece",
        "alter table segment drop column pieces",
        "alter table trial drop column pieces",
        "delete from _sqlx_migrations where version > 1",
        "insert into plan (digest, body) values ('digest', x'7b7d')",
        "insert into session (id, worker, opened_at, watermark) values (1, 'worker', 1, 2)",
        "insert into run (id, name, plan_digest, seed, planned, state, started_at, version)
         values ('run', 'run', 'digest', 1, 9, 'finished', 1, '0.1.0')",
        "insert into segment (session, sequence, run, turns, spend, payload, committed_at)
         values (1, 1, 1, 2, '[]', x'0a0204', 5), (1, 2, 1, 2, '[]', x'0a05', 6)",
    ];
    for statement in statements {
        sqlx::query(statement).execute(&mut connection).await.unwrap();
    }
    for (number, first) in [(3, 1), (4, 2)] {
        let insert = "insert into trial (run, number, epoch, session, first_sequence, last_sequence, body)
                      values (1, ?1, 1, 1, ?2, 2, ?3)";
        let body = serde_json::to_string(&trial(number, 1)).unwrap();
        let query = sqlx::query(insert).bind(number as i64).bind(first).bind(body);
        query.execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}

#[tokio::test]
async fn stores_of_version_0_1_0_are_read() {
    let (_folder, path) = place();
    of_version_0_1_0(&path).await;
    let store = Sqlite::open(&path).await.unwrap();
    let stored = store.trials(&id("run"), 0, 9).await.unwrap();
    let whole = |sequence| Piece { sequence, part: Part::Whole };
    let places: Vec<_> = stored.iter().map(|one| (one.trial.number, one.pieces.clone())).collect();
    assert_eq!(places, [(3, vec![whole(1), whole(2)]), (4, vec![whole(2)])]);
    assert_eq!(words(&store, "run", 1, 1).await, &b"\x0a\x02\x04"[..]);
    assert_eq!(words(&store, "run", 1, 2).await, &b"\x0a\x05"[..]);

    // An interrupted run continues in the same store.
    store.set_state(&id("run"), RunState::Running, None).await.unwrap();
    assert_eq!(store.token(1).await.unwrap(), None, "a worker of before joins again");
    let session = store.open_session("worker", &token(), 7).await.unwrap();
    store.grant(&[lease(1, session, "run", 5..6, 1)], 7).await.unwrap();
    assert_eq!(store.commit(&batch(session, 1, "run", &[(5, 1)]), 8).await.unwrap().counted, [5]);
    assert_eq!(whole_segments(&store, "run", session).await, 1);
    assert_eq!(words(&store, "run", 1, 1).await, &b"\x0a\x02\x04"[..]);
}

/// The file without the store.
async fn raw(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
}

#[tokio::test]
async fn a_store_is_open_once() {
    let (_folder, path) = place();
    let store = Sqlite::open(&path).await.unwrap();
    let second = Sqlite::open(&path).await.unwrap_err();
    assert!(matches!(&second, Error::InUse(file) if *file == path.display().to_string()), "{second}");
    store.create_run(&run("run"), PLAN).await.unwrap();
    store.close().await.unwrap();
    let files: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files.len(), 2, "closed, it is one file and its lock: {files:?}");
    let store = Sqlite::open(&path).await.unwrap();
    assert_eq!(store.runs().await.unwrap(), [run("run")]);
}

#[tokio::test]
async fn a_store_survives_a_kill_during_its_creation() {
    // The files in order of their creation: an empty file, then only the table of migrations.
    let no_file: &[&str] = &[];
    let no_migration = &["create table _sqlx_migrations (version bigint primary key, description text not null,
        installed_on timestamp not null default current_timestamp, success boolean not null, checksum blob not null,
        execution_time bigint not null)"];
    for statements in [no_file, no_migration] {
        let (_folder, path) = place();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        let mut connection = raw(&path).await;
        for statement in statements {
            sqlx::query(*statement).execute(&mut connection).await.unwrap();
        }
        connection.close().await.unwrap();
        let store = Sqlite::open(&path).await.unwrap_or_else(|error| panic!("{statements:?}: {error}"));
        store.create_run(&run("run"), PLAN).await.unwrap();
        assert_eq!(store.runs().await.unwrap(), [run("run")]);
    }
}

#[tokio::test]
async fn a_file_that_is_removed_or_replaced_is_noticed() {
    for replaced in [false, true] {
        let (_folder, path) = place();
        let store = Sqlite::open(&path).await.unwrap();
        store.create_run(&run("run"), PLAN).await.unwrap();
        store.check().await.unwrap();
        fs::remove_file(&path).unwrap();
        if replaced {
            fs::write(&path, "another file").unwrap();
        }
        let says = if replaced { "run.db was replaced" } else { "run.db was removed" };
        let says = says.replace("run.db", &path.display().to_string());
        for refusal in [store.check().await.unwrap_err(), store.create_run(&run("other"), PLAN).await.unwrap_err()] {
            assert!(matches!(&refusal, Error::Gone(why) if *why == says), "{refusal}");
        }
    }
}

#[tokio::test]
async fn another_version_is_refused() {
    let rows = [
        (
            "update _sqlx_migrations set version = 99 where version = 6",
            "was made by a newer gabfest: use that one, or restore a backup",
        ),
        ("insert into _sqlx_migrations values (99, 'later', '', true, x'00', 1)", "was made by a newer gabfest"),
        ("update _sqlx_migrations set checksum = x'00'", "was made by a gabfest of another line"),
        ("update _sqlx_migrations set success = false", "was left half changed by an upgrade"),
        ("pragma application_id = 7", "belongs to another program"),
    ];
    for (change, says) in rows {
        let (_folder, path) = place();
        Sqlite::open(&path).await.unwrap().close().await.unwrap();
        let mut connection = raw(&path).await;
        sqlx::query(change).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let refusal = Sqlite::open(&path).await.unwrap_err();
        let named = refusal.to_string().starts_with(&format!("{} {says}", path.display()));
        assert!(matches!(refusal, Error::Version(_)) && named, "{change}: {refusal}");
    }
}

#[tokio::test]
async fn a_file_of_another_program_stays_as_it_is() {
    let (_folder, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut connection = raw(&path).await;
    sqlx::query("create table bookmark (url text)").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(Sqlite::open(&path).await.unwrap_err(), Error::Version(_)));
    assert_eq!(fs::read(&path).unwrap(), before);

    let text = "not a database, and longer than the header of one: ".repeat(40);
    fs::write(&path, &text).unwrap();
    let refusal = Sqlite::open(&path).await.unwrap_err();
    assert!(refusal.to_string().contains("gabfest.db"), "{refusal}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn where_nothing_can_be_written_it_says_so() {
    let (folder, _) = place();
    fs::write(folder.path().join("file"), "").unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    for path in ["file/gabfest.db", "folder"] {
        let refusal = Sqlite::open(&folder.path().join(path)).await.unwrap_err();
        assert!(matches!(refusal, Error::Unwritable(_)), "{path}: {refusal}");
    }
}

#[tokio::test]
async fn a_dropped_commit_is_complete_or_absent() {
    let (_folder, path) = place();
    let store = Sqlite::open(&path).await.unwrap();
    store.create_run(&run("run"), PLAN).await.unwrap();
    let session = store.open_session("worker", &token(), 1).await.unwrap();
    store.grant(&[lease(1, session, "run", 0..10_000, 1)], 1).await.unwrap();
    let mut dropped = 0;
    for step in 0..60 {
        let sequence = store.watermark(session).await.unwrap().unwrap() + 1;
        let commit = batch(session, sequence, "run", &[(sequence, 1)]);
        let patience = Duration::from_micros(step * 25);
        dropped += u32::from(tokio::time::timeout(patience, store.commit(&commit, 2)).await.is_err());
        // The next writer is not blocked, and sees all of it or none.
        store.heartbeat(session, Usd(1), &[], 2).await.unwrap();
    }
    assert!(dropped > 0, "the test was too patient");
    let last = store.watermark(session).await.unwrap().unwrap();
    assert_eq!(whole_segments(&store, "run", session).await, last);
    let done = store.recover(&id("run")).await.unwrap().done;
    assert_eq!(done.iter().map(|range| range.end - range.start).sum::<u64>(), last);
}

/// Mounted for the test, so it is really full: not the limit of some other layer.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(folder.path()).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "{} stays mounted", self.0.path().display());
    }
}

#[tokio::test]
async fn a_full_disk_is_reported_and_loses_nothing() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("SKIPPED: a full disk; only root may mount a small one");
        return;
    };
    let path = disk.0.path().join("gabfest.db");
    let ballast = disk.0.path().join("ballast");
    fs::write(&ballast, vec![1; 1 << 20]).unwrap();
    let store = Sqlite::open(&path).await.unwrap();
    store.create_run(&run("run"), PLAN).await.unwrap();
    let session = store.open_session("worker", &token(), 1).await.unwrap();
    store.grant(&[lease(1, session, "run", 0..1_000, 1)], 1).await.unwrap();
    let large = |sequence: u64| {
        let mut commit = batch(session, sequence, "run", &[(sequence, 1)]);
        commit.segment.pieces = vec![vec![7; 50_000].into()];
        commit
    };
    let mut sequence = 1;
    let refusal = loop {
        match store.commit(&large(sequence), 2).await {
            Ok(committed) => assert_eq!(committed.counted, [sequence]),
            Err(refusal) => break refusal,
        }
        sequence += 1;
    };
    assert!(matches!(refusal, Error::Unwritable(_)), "{refusal}");
    assert!(refusal.to_string().contains("full"), "{refusal}");
    // It can be read while it is full, and refuses again instead of half a batch.
    assert_eq!(store.watermark(session).await.unwrap(), Some(sequence - 1));
    assert!(matches!(store.commit(&large(sequence), 2).await, Err(Error::Unwritable(_))));

    fs::remove_file(&ballast).unwrap();
    assert_eq!(store.commit(&large(sequence), 3).await.unwrap().counted, [sequence]);
    let done = store.recover(&id("run")).await.unwrap().done;
    assert_eq!((done.len(), done.first()), (1, Some(&(1..sequence + 1))));
    assert_eq!(words(&store, "run", session, sequence).await.len(), 50_000);
    assert_eq!(words(&store, "run", session, sequence + 1).await.len(), 0);
}

const KILLED: &str = "GABFEST_STORE_TO_BE_KILLED";

/// The other half of the next test: writes, and prints what was acknowledged.
#[tokio::test]
#[ignore = "a process of its own, to be killed"]
async fn writes_until_it_is_killed() {
    let path = std::env::var_os(KILLED).expect("started by the test that kills it");
    let store = Sqlite::open(Path::new(&path)).await.unwrap();
    let session = store.open_session("worker", &token(), 1).await.unwrap();
    store.grant(&[lease(1, session, "run", session * 5_000..(session + 1) * 5_000, 1)], 1).await.unwrap();
    for sequence in 1.. {
        let number = session * 5_000 + sequence;
        let committed = store.commit(&batch(session, sequence, "run", &[(number, 1)]), 2).await.unwrap();
        assert_eq!(committed.counted, [number]);
        println!("acknowledged {session} {sequence}");
    }
}

#[tokio::test]
async fn acknowledged_results_survive_a_kill() {
    let (_folder, path) = place();
    let store = Sqlite::open(&path).await.unwrap();
    store.create_run(&run("run"), PLAN).await.unwrap();
    store.close().await.unwrap();
    let mut trials = 0;
    for patience in [1, 7, 20, 45] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "disk::writes_until_it_is_killed", "--ignored", "--nocapture"])
            .env(KILLED, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let acknowledged = lines.filter_map(|line| {
            let (session, sequence) = line.split_once("acknowledged ")?.1.split_once(' ')?;
            Some((session.parse::<u64>().unwrap(), sequence.parse::<u64>().unwrap()))
        });
        let (session, sequence) = acknowledged.take(patience).last().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();

        let store = Sqlite::open(&path).await.unwrap();
        let watermark = store.watermark(session).await.unwrap().unwrap();
        assert!(watermark >= sequence, "{watermark} of at least {sequence}");
        assert_eq!(whole_segments(&store, "run", session).await, watermark);
        let first = session * 5_000;
        let recovered = store.recover(&id("run")).await.unwrap();
        assert_eq!(recovered.done.last(), Some(&(first + 1..first + watermark + 1)));
        trials += watermark;
        let lost = store.end_session(session, "killed", false, &[], 3).await.unwrap();
        assert_eq!(lost.len(), 2, "before and after what was done");
        let stored = store.trials(&id("run"), 0, u32::MAX).await.unwrap();
        assert_eq!(stored.len() as u64, trials);
        store.close().await.unwrap();
    }
}
