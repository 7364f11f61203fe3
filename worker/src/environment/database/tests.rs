//! Seeding real databases: SQLite always, PostgreSQL where `GABFEST_POSTGRES` holds an address.

use sqlx::Row as _;

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
    seed(&address, &seeding(&[TABLE, ("empty.sql", "  -- nothing\n"), TRIGGER])).await.unwrap();
    let mut connection = SqliteConnectOptions::from_str(&address).unwrap().connect().await.unwrap();
    let rows = sqlx::query("SELECT id, name FROM users ORDER BY id").fetch_all(&mut connection).await.unwrap();
    let rows: Vec<(i64, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
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
        let error = seed(&address, &seeding(&[TABLE, ("bad.sql", sql)])).await.unwrap_err().to_string();
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
        let error = seed(address, &seeding(&[TABLE])).await.unwrap_err().to_string();
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
    assert_eq!(telemetry::redact(&format!("at {written}!")), "at [redacted]!");
    assert_eq!(telemetry::redact("with a-password-of-mine"), "with [redacted]");
}

#[tokio::test]
async fn postgres_tells_the_line() {
    let Ok(address) = std::env::var("GABFEST_POSTGRES") else {
        eprintln!("SKIPPED: 1 test of seeding PostgreSQL, GABFEST_POSTGRES is not set");
        return;
    };
    let fresh = ("0.sql", "DROP TABLE IF EXISTS users;");
    seed(&address, &seeding(&[fresh, TABLE])).await.unwrap();
    let bad = ("bad.sql", "SELECT 'ä';\n\nSELECT 2;\nINSERT INTO nobody VALUES (1);");
    let error = seed(&address, &seeding(&[bad])).await.unwrap_err();
    let Error::Statement { place, .. } = &error else { panic!("{error}") };
    assert_eq!((place.statement, place.line), (3, Some(4)), "{error}");
    assert!(error.to_string().starts_with("run bad.sql, statement 3, line 4: "), "{error}");
}
