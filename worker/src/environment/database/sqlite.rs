//! Seeds a SQLite database. SQLite itself reports what each statement does, so no spelling can hide anything.
//!
//! A scenario's SQL may do anything with its own database. It cannot reach any other file.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use rusqlite::{
    Batch, Connection, OpenFlags,
    config::DbConfig,
    fallible_iterator::FallibleIterator as _,
    hooks::{AuthAction, AuthContext, Authorization},
};
use scenario::Seeding;

use super::error::{Error, StatementPlace};

/// All others are refused: some open files (`temp_store_directory`), some remove protections (`writable_schema`).
const PRAGMAS: &[&str] = &[
    "analysis_limit",
    "application_id",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "case_sensitive_like",
    "cell_size_check",
    "collation_list",
    "compile_options",
    "count_changes",
    "database_list",
    "defer_foreign_keys",
    "encoding",
    "foreign_key_check",
    "foreign_key_list",
    "foreign_keys",
    "freelist_count",
    "function_list",
    "ignore_check_constraints",
    "incremental_vacuum",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "journal_mode",
    "journal_size_limit",
    "legacy_alter_table",
    "locking_mode",
    "max_page_count",
    "mmap_size",
    "optimize",
    "page_count",
    "page_size",
    "quick_check",
    "recursive_triggers",
    "reverse_unordered_selects",
    "secure_delete",
    "shrink_memory",
    "synchronous",
    "table_info",
    "table_list",
    "table_xinfo",
    "temp_store",
    "threads",
    "user_version",
    "wal_autocheckpoint",
    "wal_checkpoint",
];

/// Virtual machine steps between two checks whether the seeding was given up.
pub(super) const STEPS: i32 = 10_000;

/// Runs the files of one seeding in order. Dropping the future interrupts the running statement.
pub(super) async fn seed(address: &str, seeding: &Seeding, trusted: bool) -> Result<(), Error> {
    let uri = uri(address)?;
    let files = seeding.files.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let _stops_when_dropped = Stop(Arc::clone(&stop));
    tokio::task::spawn_blocking(move || fill(&uri, &files, trusted, stop)).await.map_err(|_| Error::Stopped)?
}

pub(super) struct Stop(pub(super) Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn fill(uri: &str, files: &[(String, String)], trusted: bool, stop: Arc<AtomicBool>) -> Result<(), Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags).map_err(Error::OpenSqlite)?;
    let refused = guard(&connection, trusted, Arc::clone(&stop)).map_err(Error::OpenSqlite)?;
    for (file, sql) in files {
        let mut statement = 1;
        run(&connection, sql, &stop, &mut statement).map_err(|source| {
            let (file, place) = (file.clone(), StatementPlace { statement, line: None });
            match refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
                Some(what) => Error::Refused { file, place, what },
                None => Error::Sqlite { file, place, source },
            }
        })?;
    }
    connection.close().map_err(|(_, error)| Error::OpenSqlite(error))
}

/// A description of what was refused last.
type Refused = Arc<Mutex<Option<String>>>;

fn guard(connection: &Connection, trusted: bool, stop: Arc<AtomicBool>) -> Result<Refused, rusqlite::Error> {
    let refused = Refused::default();
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.progress_handler(STEPS, Some(move || stop.load(Ordering::Relaxed)))?;
    if !trusted {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        let told = Arc::clone(&refused);
        let authorize = move |asked: AuthContext<'_>| match verdict(&asked.action) {
            None => Authorization::Allow,
            Some(what) => {
                *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
                Authorization::Deny
            }
        };
        connection.authorizer(Some(authorize))?;
    }
    Ok(refused)
}

/// A description of what is refused; `None` if the action is allowed.
fn verdict(action: &AuthAction<'_>) -> Option<String> {
    match action {
        // `VACUUM` attaches a nameless temporary file, and `VACUUM INTO` the one that it names.
        AuthAction::Attach { filename: "" } => None,
        AuthAction::Attach { .. } => Some("another file (ATTACH or VACUUM INTO)".to_owned()),
        AuthAction::Function { function_name } if function_name.eq_ignore_ascii_case("load_extension") => {
            Some("load_extension".to_owned())
        }
        AuthAction::Pragma { pragma_name, .. }
            if !PRAGMAS.iter().any(|allowed| pragma_name.eq_ignore_ascii_case(allowed)) =>
        {
            Some(format!("PRAGMA {pragma_name}"))
        }
        // An ATTACH with a computed file name does not report the name.
        AuthAction::Unknown { .. } => Some("a file whose name is computed (ATTACH)".to_owned()),
        _ => None,
    }
}

/// Counts finished statements, to name the one that failed.
fn run(connection: &Connection, sql: &str, stop: &AtomicBool, number: &mut u64) -> Result<(), rusqlite::Error> {
    let mut batch = Batch::new(connection, sql);
    while let Some(mut statement) = batch.next()? {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {}
        *number += 1;
    }
    Ok(())
}

/// SQLite's own form of an address: `sqlite:` and `sqlite://` before a path, then `mode`, `cache`, `immutable` and
/// `vfs`. A missing file is created, whatever the mode says.
pub(super) fn uri(address: &str) -> Result<String, Error> {
    let rest = address.strip_prefix("sqlite://").or_else(|| address.strip_prefix("sqlite:")).ok_or(Error::Scheme)?;
    let (path, written) = rest.split_once('?').unwrap_or((rest, ""));
    let mut options = String::new();
    for option in written.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match (name, value) {
            ("mode", "rw" | "rwc") => {}
            ("mode", "ro" | "memory") | ("cache", "private" | "shared") | ("immutable" | "vfs", _) => {
                options.push_str(if options.is_empty() { "?" } else { "&" });
                options.push_str(option);
            }
            _ => return Err(Error::Option(name.to_owned())),
        }
    }
    // After two slashes SQLite expects the name of a machine, and it ignores everything after a `#`.
    let root = if path.starts_with('/') { "/" } else { "" };
    Ok(format!("file:{root}{}{options}", path.trim_start_matches('/').replace('#', "%23")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_become_those_of_sqlite() {
        for (address, expected) in [
            ("sqlite:/a/b.db", "file:/a/b.db"),
            ("sqlite:///a/b.db", "file:/a/b.db"),
            ("sqlite:////a/b.db", "file:/a/b.db"),
            ("sqlite:b.db?mode=rwc", "file:b.db"),
            ("sqlite://b%20c#1.db?mode=ro&cache=shared", "file:b%20c%231.db?mode=ro&cache=shared"),
            ("sqlite::memory:", "file::memory:"),
        ] {
            assert_eq!(uri(address).unwrap(), expected);
        }
        let error = uri("sqlite:b.db?mode=new").unwrap_err().to_string();
        assert_eq!(error, "read its address: it has an option `mode` that SQLite does not know");
    }

    #[test]
    fn endless_sql_stops_when_the_call_is_dropped() {
        let endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t;";
        let files = vec![("endless.sql".to_owned(), endless.to_owned())];
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let (begun, begins) = std::sync::mpsc::channel();
        let filling = std::thread::spawn(move || {
            begun.send(()).unwrap();
            fill("file::memory:", &files, false, told)
        });
        begins.recv().unwrap();
        drop(Stop(stop));
        if let Err(error) = filling.join().unwrap() {
            assert!(error.to_string().contains("interrupted"), "{error}");
        }
    }
}
