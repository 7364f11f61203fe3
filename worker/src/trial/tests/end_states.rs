//! Checks of end states in a trial: of a database and of a service. The trial keeps what they read.

use super::*;
use crate::state_host::{self, StateHost};

const SHOP: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT);
    INSERT INTO orders VALUES (7, 'open'); CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('Ann');";

async fn played(evaluation: Value, resources: Resources) -> Played {
    let steps = json!([{ "input": "Refund order 7", "evaluations": [evaluation] }]);
    let seed = json!({ "database": [{ "connection": "shop", "files": [{ "path": "shop.sql", "text": SHOP }] }] });
    play_one(&plan(&scenario(steps, json!({ "gabfest": seed })), 1), 0, 1, Arc::new(resources)).await
}

/// An agent that runs this SQL when it is asked.
fn shop(sql: &'static str) -> (tempfile::TempDir, Resources) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    let address = format!("sqlite:{}", file.display());
    let agent = FakeAgent::new(move |_, _| {
        rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        Does::Says("Done.".to_owned())
    });
    let mut resources = Arc::into_inner(Cast::with(agent).resources()).unwrap();
    resources.databases.insert("shop".to_owned(), address);
    (folder, resources)
}

#[tokio::test]
async fn rows_and_tables_of_a_database_decide() {
    let status = json!({
        "type": "sql_state", "database": "shop", "query": "SELECT status FROM orders WHERE id = ?", "parameters": [7],
        "rows": [["refunded"]], "unchanged": ["customers"],
    });
    let refund = "UPDATE orders SET status = 'refunded' WHERE id = 7";
    let and_more = "UPDATE orders SET status = 'refunded' WHERE id = 7; UPDATE customers SET name = 'Amy'";
    for (sql, verdict, reason) in [
        (refund, Verdict::Pass, "the query returns [[\"refunded\"]]"),
        ("SELECT 1", Verdict::Fail, "the query returns [[\"open\"]], expected [[\"refunded\"]]"),
        (and_more, Verdict::Fail, "the table customers is not as it was"),
    ] {
        let (_folder, resources) = shop(sql);
        let played = played(status.clone(), resources).await;
        let judgment = &played.trial.judgments[0];
        assert_eq!(played.trial.verdict, verdict, "{sql}: {judgment:?}");
        assert!(judgment.reason.contains(reason), "{sql}: {judgment:?}");
        let kept = played.notes("end_state").join(" ");
        let status = if verdict == Verdict::Fail && sql == "SELECT 1" { "open" } else { "refunded" };
        assert!(kept.contains(&format!("[[\"{status}\"]]")) && kept.contains("table shop customers"), "{kept}");
    }
}

#[tokio::test]
async fn a_state_that_cannot_be_read_is_never_a_fail() {
    let query = |sql: &str| json!({ "type": "sql_state", "database": "shop", "query": sql, "rows": [] });
    let table = json!({ "type": "sql_state", "database": "shop", "unchanged": ["carts"] });
    let other = json!({ "type": "sql_state", "database": "other", "query": "SELECT 1", "rows": [] });
    let service = json!({ "type": "http_state", "host": "other", "path": "/orders" });
    for (evaluation, kind, turns) in [
        (query("DELETE FROM orders"), FailureKind::EnvironmentFailed, 1),
        (query("SELECT missing FROM orders"), FailureKind::EnvironmentFailed, 1),
        (table, FailureKind::EnvironmentFailed, 0),
        (other, FailureKind::Misconfigured, 0),
        (service, FailureKind::Misconfigured, 0),
    ] {
        let (_folder, resources) = shop("SELECT 1");
        let trial = played(evaluation.clone(), resources).await.trial;
        assert_eq!((trial.verdict, trial.turns), (Verdict::Error, turns), "{evaluation}: {:?}", trial.failure);
        assert_eq!(trial.failure.map(|failure| failure.kind), Some(kind), "{evaluation}");
    }
}

#[tokio::test]
async fn a_service_may_take_its_time_to_be_so() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let looks = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = Arc::clone(&looks);
    let answer = move || {
        let look = counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let status = if look < 2 { "open" } else { "refunded" };
        async move { axum::Json(json!({ "status": status })) }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let routes = axum::Router::new().route("/orders/7", axum::routing::get(answer));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let host = || StateHost::new(&state_host::Settings { url: url.clone(), key: None, timeout_ms: 20_000 }).unwrap();
    let evaluation = |within_ms: u64| {
        json!({
            "type": "http_state", "host": "shop", "path": "/orders/7", "json_path": "$.status", "equals": "refunded",
            "within_ms": within_ms,
        })
    };
    for (within_ms, verdict) in [(0, Verdict::Fail), (20_000, Verdict::Pass)] {
        let (_folder, mut resources) = shop("SELECT 1");
        resources.state_hosts.insert("shop".to_owned(), host());
        let played = played(evaluation(within_ms), resources).await;
        assert_eq!(played.trial.verdict, verdict, "{:?}", played.trial.failure);
        assert_eq!(played.notes("end_state").len(), 1, "the latest look is kept");
    }
    assert_eq!(looks.load(std::sync::atomic::Ordering::Relaxed), 3);
}
