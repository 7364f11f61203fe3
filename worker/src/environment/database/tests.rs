//! Seeding of real databases: always SQLite, and PostgreSQL if `GABFEST_POSTGRES` holds an address.

use super::*;

fn seeding(files: &[(&str, &str)]) -> Seeding {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    Seeding { connection: "main".to_owned(), files }
}

const TABLE: (&str, &str) = (
    "1-table.sql",
    "-- a comment; with a semicolon\nCREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);\n\
     INSERT INTO users VALUES (1, 'Ann; the first'), (2, 'Bob');\n",
);
const TRIGGER: (&str, &str) = (
    "2-trigger.sql",
    "CREATE TRIGGER twice AFTER INSERT ON users WHEN new.id < 100 BEGIN\n\
     INSERT INTO users VALUES (new.id + 100, new.name);\nEND;\nINSERT INTO users VALUES (3, 'Cy');",
);

#[tokio::test]
async fn files_run_in_order_and_statement_by_statement() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("new.db").display());
    seed(&address, &seeding(&[TABLE, ("empty.sql", "  -- nothing\n"), TRIGGER]), false).await.unwrap();
    let connection = rusqlite::Connection::open(folder.path().join("new.db")).unwrap();
    let mut statement = connection.prepare("SELECT id, name FROM users ORDER BY id").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let rows: Vec<(i64, String)> = rows.map(Result::unwrap).collect();
    let expected = [(1, "Ann; the first"), (2, "Bob"), (3, "Cy"), (103, "Cy")];
    assert_eq!(rows, expected.map(|(id, name)| (id, name.to_owned())));
}

#[tokio::test]
async fn an_error_names_the_file_and_the_statement() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("new.db").display());
    for (sql, expected) in [
        ("SELECT 1;\nINSERT INTO users VALUES (1, 'again');", "run bad.sql, statement 2: "),
        ("SELECT 1;\nSELECT 2;\nCREATE TABEL x (y);", "run bad.sql, statement 3: "),
    ] {
        let fresh = folder.path().join("new.db");
        drop(std::fs::remove_file(&fresh));
        let error = seed(&address, &seeding(&[TABLE, ("bad.sql", sql)]), false).await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[tokio::test]
async fn addresses_that_lead_nowhere_are_refused_without_being_shown() {
    let unreachable = "postgres://me:canary-password@127.0.0.1:1/db";
    for (address, expected) in [
        ("mysql://me:canary-password@host/db", "read its address: it begins with neither sqlite:"),
        ("canary-password", "read its address: it begins with neither sqlite:"),
        (unreachable, "connect: "),
        ("sqlite:/no/such/folder/canary.db", "connect: "),
    ] {
        let error = seed(address, &seeding(&[TABLE]), false).await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(!error.contains("canary-password"), "{error}");
    }
}

#[test]
fn an_address_may_be_kept_elsewhere() {
    // Cargo sets this for every test that it runs.
    assert_eq!(address("env:CARGO_PKG_NAME").unwrap(), "gabfest-worker");
    assert_eq!(address("sqlite:file.db").unwrap(), "sqlite:file.db");
    let error = address("env:GABFEST_NO_SUCH_ADDRESS").unwrap_err().to_string();
    assert!(error.starts_with("resolve its address: "), "{error}");
    let written = "postgres://me:a-password-of-mine@host/db";
    assert_eq!(address(written).unwrap(), written);
    assert_eq!(redact::redact(&format!("at {written}!")), "at [redacted]!");
    assert_eq!(redact::redact("with a-password-of-mine"), "with [redacted]");
}

/// SQL that a scenario must not run, each with a word of the refusal. `{file}` is a file that does not exist.
const ESCAPES: &[(&str, &str)] = &[
    ("ATTACH DATABASE '{file}' AS other; CREATE TABLE other.t (x)", "another file"),
    ("/* ' */ aTtAcH/**/'{file}' AS \"other\"", "another file"),
    ("ATTACH '/tmp' || '/x' AS other", "whose name is computed"),
    ("SELECT 1; VACUUM main INTO '{file}'", "another file"),
    ("ATTACH '' AS t; VACUUM t INTO '{file}'", "another file"),
    ("SELECT load_extension('{file}')", "load_extension"),
    ("SELECT \"LOAD_EXTENSION\"('{file}')", "load_extension"),
    ("PRAGMA Writable_Schema = 1", "PRAGMA Writable_Schema"),
    ("PRAGMA main.writable_schema(on)", "PRAGMA writable_schema"),
    ("PRAGMA temp_store_directory = '/tmp'", "PRAGMA temp_store_directory"),
    (
        "CREATE TRIGGER x AFTER INSERT ON users BEGIN SELECT load_extension('{file}'); END; INSERT INTO users VALUES (9, 'x')",
        "load_extension",
    ),
];

#[tokio::test]
async fn sql_for_sqlite_reaches_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("elsewhere").display().to_string();
    let address = format!("sqlite:{}", folder.path().join("new.db").display());
    for (sql, expected) in ESCAPES {
        drop(std::fs::remove_file(folder.path().join("new.db")));
        let sql = sql.replace("{file}", &file);
        let error = seed(&address, &seeding(&[TABLE, ("bad.sql", &sql)]), false).await.unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{sql}: {error:?}");
        let error = error.to_string();
        assert!(error.starts_with("run bad.sql, statement ") && error.contains(expected), "{sql}: {error}");
        assert!(!std::path::Path::new(&file).exists(), "{sql}");
    }
    let schema = seeding(&[("bad.sql", "UPDATE sqlite_schema SET sql = 'x'")]);
    let error = seed(&address, &schema, false).await.unwrap_err().to_string();
    assert!(error.contains("may not be modified"), "{error}");
}

#[tokio::test]
async fn ordinary_sql_and_trusted_sql_pass_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("new.db").display());
    let ordinary = "PRAGMA foreign_keys = off; PRAGMA journal_mode = wal; BEGIN; CREATE TABLE t (x); \
                    INSERT INTO t VALUES ('ATTACH'); COMMIT; ANALYZE; VACUUM; PRAGMA integrity_check;";
    seed(&address, &seeding(&[("ordinary.sql", ordinary)]), false).await.unwrap();
    let file = folder.path().join("elsewhere");
    let attach = format!("ATTACH '{}' AS other; CREATE TABLE other.t (x);", file.display());
    seed(&address, &seeding(&[("attach.sql", &attach)]), true).await.unwrap();
    assert!(file.exists());
}

#[tokio::test]
async fn postgres_reports_the_line() {
    let Ok(address) = std::env::var("GABFEST_POSTGRES") else {
        eprintln!("SKIPPED: 1 test of seeding PostgreSQL, GABFEST_POSTGRES is not set");
        return;
    };
    let fresh = ("0.sql", "DROP TABLE IF EXISTS users;");
    seed(&address, &seeding(&[fresh, TABLE]), false).await.unwrap();
    let bad = ("bad.sql", "SELECT 'ä';\n\nSELECT 2;\nINSERT INTO nobody VALUES (1);");
    let error = seed(&address, &seeding(&[bad]), false).await.unwrap_err();
    let Error::Statement { place, .. } = &error else { panic!("{error}") };
    assert_eq!((place.statement, place.line), (3, Some(4)), "{error}");
    assert!(error.to_string().starts_with("run bad.sql, statement 3, line 4: "), "{error}");
}

/// `GABFEST_POSTGRES` names a superuser here; the other role is made by the test.
#[tokio::test]
async fn sql_for_postgres_reaches_no_file_and_no_program() {
    let Ok(address) = std::env::var("GABFEST_POSTGRES") else {
        eprintln!("SKIPPED: 1 test of seeding PostgreSQL, GABFEST_POSTGRES is not set");
        return;
    };
    let file = std::env::temp_dir().join(format!("never-{}", std::process::id())).display().to_string();
    let role = "DROP ROLE IF EXISTS gabfest_weak; CREATE ROLE gabfest_weak LOGIN PASSWORD 'gabfest-weak';";
    seed(&address, &seeding(&[("role.sql", role)]), false).await.unwrap();
    let (scheme, rest) = address.split_once("://").unwrap();
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let weak = format!("{scheme}://gabfest_weak:gabfest-weak@{host}");
    for sql in [
        "COPY (SELECT 1) TO PROGRAM 'cat > {file}'",
        "COPY (SELECT 1) TO '{file}'",
        "DO $$ BEGIN EXECUTE 'CO' || 'PY (SELECT 1) TO ''{file}'''; END $$",
        "SELECT lo_export(lo_from_bytea(0, 'x'), '{file}')",
        "SELECT lo_import('/etc/hostname')",
        "SELECT pg_read_file('/etc/hostname')",
        "SELECT set_config('standard_' || 'conforming_strings', 'off', false)",
    ] {
        let sql = sql.replace("{file}", &file);
        // Settings of the first file must not change how the second is read.
        let files = [("bad.sql", sql.as_str()), ("next.sql", "SELECT 1")];
        let error = seed(&address, &seeding(&files), false).await.unwrap_err();
        assert!(matches!(error, Error::RefusedToRole { .. }), "{sql}: {error}");
        if !sql.contains("set_config") {
            let error = seed(&weak, &seeding(&files), false).await.unwrap_err();
            let refused =
                ["permission denied", "must be superuser"].iter().any(|said| error.to_string().contains(said));
            assert!(refused, "{sql}: {error}");
        }
        assert!(!std::path::Path::new(&file).exists(), "{sql}");
    }
    let dynamic = [("do.sql", "DO $$ BEGIN EXECUTE 'SELECT 1'; END $$")];
    seed(&weak, &seeding(&dynamic), false).await.unwrap();
    seed(&address, &seeding(&dynamic), true).await.unwrap();
}
