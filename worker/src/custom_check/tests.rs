//! Programs and services that answer, crash, hang and lie.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;
use crate::environment::Limits;

const TRANSCRIPT: &str = r#"{"schema":"gabfest.transcript/1","turns":[]}"#;

/// Greets, then answers every line with the output of `body` for `$id`.
fn loop_of(body: &str) -> String {
    format!(
        r#"echo '{{"gabfest":"check/1"}}'; while read -r line; do id=${{line#*'"id":"'}}; id=${{id%%'"'*}}; {body}; done"#
    )
}

/// Prints an answer; `$id` and other variables of the shell are put in.
fn says(result: &str) -> String {
    let quoted = format!(r#"{{"id":"$id",{result}}}"#).replace('"', "\\\"");
    format!("echo \"{quoted}\"")
}

fn settings(script: &str) -> Settings {
    serde_json::from_value(json!({ "command": ["sh", "-c", script] })).unwrap()
}

fn host() -> Execution {
    Execution::host(Vec::new(), Limits::default())
}

fn program(script: &str) -> CustomCheck {
    CustomCheck::new(&settings(script), Path::new("/"), &host()).unwrap()
}

#[tokio::test]
async fn a_program_stays_and_answers_one_transcript_after_the_other() {
    let check = program(&loop_of(&format!("n=$((n+1)); {}", says(r#""result":{"pass":true,"reason":"$n"}"#))));
    for n in 1..=3 {
        let answer = check.ask(&format!("t/{n}"), TRANSCRIPT).await.unwrap();
        assert_eq!(answer.text, format!(r#"{{"pass":true,"reason":"{n}"}}"#));
    }
}

#[tokio::test]
async fn a_program_gets_the_transcript_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let script = loop_of(&format!("printf '%s' \"$line\" > got; {}", says(r#""result":{"pass":true}"#)));
    let check = CustomCheck::new(&settings(&script), folder.path(), &host()).unwrap();
    check.ask("run/t \"1\"", TRANSCRIPT).await.unwrap_err();
    let got: serde_json::Value = serde_json::from_slice(&fs::read(folder.path().join("got")).unwrap()).unwrap();
    assert_eq!(got, json!({ "id": "run/t \"1\"", "transcript": { "schema": "gabfest.transcript/1", "turns": [] } }));
}

#[tokio::test]
async fn failures_are_errors_of_the_check() {
    let greet = r#"echo '{"gabfest":"check/1"}'"#;
    let failed: [(String, &str); 6] = [
        ("exit 1".to_owned(), "it ended, and so did 3 more processes of this program"),
        ("echo no such module >&2; exit 1".to_owned(), "it wrote: no such module"),
        (
            format!("{greet}; read -r line; echo oops >&2; exit 3"),
            "it wrote: oops, and so did 3 more processes of this program",
        ),
        (format!("{greet}; read -r line; kill -9 $$"), "it ended"),
        (format!("{greet}; read -r line; exec sleep 98761"), "it does not answer within 300 ms"),
        (loop_of(&says(r#""error":"division by zero""#)), "it failed: division by zero"),
    ];
    let malformed: [(String, &str); 6] = [
        ("echo hello".to_owned(), "its first line is not"),
        (r#"echo '{"gabfest":"check/2"}'"#.to_owned(), "its first line is not"),
        (loop_of("echo hello"), "its line is not"),
        (loop_of(r#"echo '{"id":"other","result":{"pass":false}}'"#), "its line answers \"other\""),
        (loop_of(&says(r#""verdict":false"#)), "neither `result` nor `error`"),
        (loop_of("head -c 300000 /dev/zero | tr '\\0' x; echo"), "a line of more than 262144 bytes"),
    ];
    let rows = failed.into_iter().map(|row| (row, false)).chain(malformed.into_iter().map(|row| (row, true)));
    for ((script, expected), is_malformed) in rows {
        let mut settings = settings(&script);
        if script.contains("98761") {
            settings.timeout_ms = 300;
        }
        let check = CustomCheck::new(&settings, Path::new("/"), &host()).unwrap();
        let error = check.ask("t/1", TRANSCRIPT).await.unwrap_err();
        assert_eq!(matches!(error, CustomError::Malformed(_)), is_malformed, "{script}: {error}");
        assert!(error.to_string().contains(expected), "{script}: {error}");
    }
}

#[tokio::test]
async fn a_crashed_process_is_restarted_and_one_with_an_error_continues() {
    let folder = tempfile::tempdir().unwrap();
    let crashes_once =
        loop_of(&format!("[ -e seen ] || {{ : > seen; exit 1; }}; {}", says(r#""result":{"pass":true}"#)));
    let check = CustomCheck::new(&settings(&crashes_once), folder.path(), &host()).unwrap();
    assert_eq!(check.ask("t/1", TRANSCRIPT).await.unwrap().text, r#"{"pass":true}"#);
    let first_fails = loop_of(&format!(
        "n=$((n+1)); if [ $n = 1 ]; then {}; else {}; fi",
        says(r#""error":"not yet""#),
        says(r#""result":{"pass":true,"reason":"$n"}"#)
    ));
    let check = program(&first_fails);
    assert!(check.ask("t/1", TRANSCRIPT).await.is_err());
    assert_eq!(check.ask("t/2", TRANSCRIPT).await.unwrap().text, r#"{"pass":true,"reason":"2"}"#);
}

#[tokio::test]
async fn a_program_is_not_started_unless_the_operator_allows_it() {
    let check = CustomCheck::new(&settings("exit 0"), Path::new("/"), &Execution::Off).unwrap();
    assert!(!check.is_allowed());
    assert!(matches!(check.ask("t/1", TRANSCRIPT).await, Err(CustomError::NotAllowed)));
}

#[tokio::test]
async fn in_the_sandbox_a_program_reads_its_folder_and_changes_nothing() {
    let execution = Execution::sandboxed(Vec::new(), Limits::default());
    if let Err(error) = execution.check().await {
        eprintln!("SKIPPED: 1 sandbox test, {error}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // If gabfest is root, programs run as another user.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("rules.txt"), "at most 30").unwrap();
    let look = "rules=$(cat rules.txt); (: > new) 2>/dev/null && wrote=yes || wrote=no";
    let script = loop_of(&format!("{look}; {}", says(r#""result":{"pass":true,"reason":"$rules, wrote $wrote"}"#)));
    let check = CustomCheck::new(&settings(&script), folder.path(), &execution).unwrap();
    let answer = check.ask("t/1", TRANSCRIPT).await.unwrap();
    assert_eq!(answer.text, r#"{"pass":true,"reason":"at most 30, wrote no"}"#);
    assert!(!folder.path().join("new").exists());
}

#[test]
fn settings_that_do_not_fit_together_are_refused() {
    for (written, key) in [
        (json!({}), "url"),
        (json!({ "url": "http://a/", "command": ["a"] }), "command"),
        (json!({ "command": [] }), "command"),
        (json!({ "command": [" "] }), "command"),
        (json!({ "command": ["a"], "key": "env:KEY" }), "key"),
        (json!({ "url": "http://a/", "folder": "a" }), "folder"),
        (json!({ "url": "http://a/", "processes": 2 }), "processes"),
        (json!({ "command": ["a"], "processes": 0 }), "processes"),
        (json!({ "command": ["a"], "timeout_ms": 0 }), "timeout_ms"),
        (json!({ "url": "nowhere" }), "url"),
        (json!({ "url": "ftp://a/" }), "url"),
        (json!({ "url": "http://a/", "timeout_ms": 0 }), "timeout_ms"),
    ] {
        let settings: Settings = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(settings.fault().map(|(key, _)| key), Some(key), "{written}");
    }
}

/// Answers one request after the other with `responses`; an empty response closes the connection. Returns the check's
/// answer and the requests.
async fn served(responses: &[String], timeout_ms: u64) -> (Result<String, CustomError>, Vec<String>) {
    // Another test may have installed the provider.
    drop(rustls::crypto::ring::default_provider().install_default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let responses = responses.to_vec();
    let server = tokio::spawn(async move {
        let mut asked = Vec::new();
        for response in responses {
            let (mut socket, _) = listener.accept().await.unwrap();
            let (mut text, mut buffer) = (String::new(), [0; 4096]);
            while !text.ends_with("[]}") {
                let read = socket.read(&mut buffer).await.unwrap();
                text.push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
            asked.push(text);
            if response.is_empty() {
                std::future::pending::<()>().await;
            }
            drop(socket.write_all(response.as_bytes()).await);
        }
        asked
    });
    let settings = Settings {
        url: Some(format!("http://{address}/check?token=hidden-token")),
        key: Some(llm::key::KeyRef::parse("env:CARGO_PKG_NAME").unwrap()),
        timeout_ms,
        ..serde_json::from_value(json!({})).unwrap()
    };
    let check = CustomCheck::new(&settings, Path::new("/"), &Execution::Off).unwrap();
    assert!(!format!("{check:?}").contains("token"), "{check:?}");
    let answer = check.ask("run/t1/check/0", TRANSCRIPT).await.map(|answered| answered.text);
    // A server that still waits for a request shows a missing one.
    let asked = if server.is_finished() || answer.is_ok() {
        server.await.unwrap()
    } else {
        server.abort();
        Vec::new()
    };
    (answer, asked)
}

fn http(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn a_service_is_posted_the_transcript() {
    let (answer, asked) = served(&[http("503 Busy", ""), http("200 OK", r#"{"pass":true}"#)], 20_000).await;
    assert_eq!(answer.unwrap(), r#"{"pass":true}"#, "a busy service is asked again");
    assert_eq!(asked.len(), 2);
    let (head, body) = asked[0].split_once("\r\n\r\n").unwrap();
    assert_eq!(body, TRANSCRIPT);
    let head = head.to_lowercase();
    for expected in [
        "post /check?token=hidden-token http/1.1",
        "authorization: bearer gabfest-worker",
        "idempotency-key: run/t1/check/0",
        "content-type: application/json",
    ] {
        assert!(head.contains(expected), "{expected} in {head}");
    }
}

#[tokio::test]
async fn failures_of_a_service_are_errors_of_the_check() {
    let busy = || http("500 Oops", "no database");
    let rows: [(Vec<String>, bool, &str); 5] = [
        (vec![busy(), busy(), busy()], false, "500 Internal Server Error: no database, in 3 tries"),
        (vec![http("302 Found", "")], false, "it answers with the status 302"),
        (vec![http("422 No", "bad config")], false, "422 Unprocessable Entity: bad config"),
        (vec![http("200 OK", &"x".repeat(300_000))], true, "answer in less than 262144 bytes"),
        (vec![String::new()], false, "it does not answer within 500 ms"),
    ];
    for (responses, is_malformed, expected) in rows {
        let timeout_ms = if responses[0].is_empty() { 500 } else { 20_000 };
        let error = served(&responses, timeout_ms).await.0.unwrap_err();
        assert_eq!(matches!(error, CustomError::Malformed(_)), is_malformed, "{error}");
        assert!(error.to_string().contains(expected) && !error.to_string().contains("hidden-token"), "{error}");
    }
}
