//! Rows, digests, and statements that write: always on SQLite, and on PostgreSQL if `GABFEST_POSTGRES` holds an
//! address.

use scenario::Seeding;
use serde_json::json;

use super::{super::seed, *};

const SHOP: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, total REAL, paid BOOLEAN);
    INSERT INTO orders VALUES (7, 'refunded', 30, NULL), (8, 'open', 4.5, NULL);
    CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('Ann'), ('Bob');";

async fn fill(address: &str, sql: &str) {
    let files = vec![("shop.sql".to_owned(), sql.to_owned())];
    seed(address, &Seeding { connection: "shop".to_owned(), files }, false).await.unwrap();
}

async fn refused(address: &str, rows: &[(&str, &str)]) {
    for (sql, says) in rows {
        let error = super::rows(address, sql, &[], false).await.unwrap_err().to_string();
        assert!(error.contains(says), "{sql}: {error}");
    }
}

async fn digests_follow_the_rows(address: &str) {
    let before = digest(address, "customers").await.unwrap();
    fill(address, "DELETE FROM customers; INSERT INTO customers VALUES ('Bob'), ('Ann');").await;
    assert_eq!(digest(address, "customers").await.unwrap(), before, "in another order");
    fill(address, "INSERT INTO customers VALUES ('Ann');").await;
    assert_ne!(digest(address, "customers").await.unwrap(), before);
    fill(address, "DELETE FROM customers; INSERT INTO customers VALUES ('Bob'), ('Amy');").await;
    assert_ne!(digest(address, "customers").await.unwrap(), before);
    assert!(digest(address, "customers\"; DROP TABLE orders; --").await.is_err());
}

#[tokio::test]
async fn a_query_of_sqlite_only_reads() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    let address = format!("sqlite:{}", file.display());
    fill(&address, SHOP).await;
    let before = std::fs::read(&file).unwrap();
    let sql = "SELECT id, status, total, paid, x'0aff' FROM orders WHERE id = ? OR status = ? ORDER BY id";
    let found = rows(&address, sql, &[json!(7), json!("open")], false).await.unwrap();
    assert_eq!(
        found,
        [
            [json!(7), json!("refunded"), json!(30.0), Value::Null, json!("0aff")],
            [json!(8), json!("open"), json!(4.5), Value::Null, json!("0aff")]
        ]
    );
    let writes = [
        "INSERT INTO customers VALUES ('Eve')",
        "UPDATE orders SET total = 0",
        "DELETE FROM orders",
        "DROP TABLE orders",
        "CREATE TABLE t (x)",
        "CREATE TEMP TABLE t (x)",
        "REPLACE INTO customers VALUES ('Eve') RETURNING name",
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'copy.db'",
        "PRAGMA user_version = 7",
        "BEGIN",
        "SELECT load_extension('x')",
        "SELECT 1; DELETE FROM orders",
    ];
    let writes: Vec<(&str, &str)> = writes.iter().map(|sql| (*sql, "it does more than read")).collect();
    refused(&address, &writes).await;
    let others = [
        ("SELECT 1; SELECT 2", "more than one statement"),
        ("", "no statement"),
        ("SELECT ?", "it has 1 parameters, and 0 are given"),
        ("SELECT missing", "no such column"),
        (
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1001) SELECT x FROM n",
            "more than 1000",
        ),
    ];
    refused(&address, &others).await;
    assert_eq!(std::fs::read(&file).unwrap(), before, "not a byte has changed");
    digests_follow_the_rows(&address).await;
    let missing = rows("sqlite:/no/such/file.db", "SELECT 1", &[], false).await.unwrap_err().to_string();
    assert!(missing.starts_with("connect: "), "{missing}");
}

#[tokio::test]
async fn a_query_of_postgres_only_reads() {
    let Ok(address) = std::env::var("GABFEST_POSTGRES") else {
        eprintln!("SKIPPED: 1 test of reading PostgreSQL, GABFEST_POSTGRES is not set");
        return;
    };
    fill(&address, "DROP TABLE IF EXISTS orders; DROP TABLE IF EXISTS customers;").await;
    fill(&address, SHOP).await;
    let sql =
        "SELECT id, status, total::float8, paid, 'a'::varchar FROM orders WHERE id = $1 OR status = $2 ORDER BY id";
    let found = rows(&address, sql, &[json!(7), json!("open")], false).await.unwrap();
    assert_eq!(
        found,
        [
            [json!(7), json!("refunded"), json!(30.0), Value::Null, json!("a")],
            [json!(8), json!("open"), json!(4.5), Value::Null, json!("a")]
        ]
    );
    let writes = [
        "INSERT INTO customers VALUES ('Eve')",
        "UPDATE orders SET total = 0",
        "DELETE FROM orders RETURNING id",
        "WITH gone AS (DELETE FROM orders RETURNING id) SELECT id FROM gone",
        "DROP TABLE orders",
        "CREATE TABLE t (x int)",
        "TRUNCATE orders",
    ];
    for sql in writes {
        let error = rows(&address, sql, &[], true).await.unwrap_err();
        assert!(!matches!(error, Error::Connect(_) | Error::Scheme), "{sql}: {error}");
    }
    refused(
        &address,
        &[
            ("INSERT INTO customers VALUES ('Eve')", "it does more than read"),
            ("SELECT 1; DELETE FROM orders", "more than one statement"),
            ("COMMIT; DELETE FROM orders", "more than one statement"),
            ("SELECT pg_read_file('/etc/hostname')", "is refused, as the role"),
            ("SELECT now()", "it has the type TIMESTAMPTZ; cast it to text"),
            ("SELECT * FROM generate_series(1, 1001)", "more than 1000"),
        ],
    )
    .await;
    let left = rows(&address, "SELECT count(*) FROM orders", &[], false).await.unwrap();
    assert_eq!(left, [[json!(2)]]);
    digests_follow_the_rows(&address).await;
}
