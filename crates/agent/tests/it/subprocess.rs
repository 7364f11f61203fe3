//! Programs as agents: programs that follow the protocol, and programs that die, hang, flood and write nonsense.

use std::time::Duration;

use agent::Surroundings;
use record::FailureKind;
use serde_json::{Value, json};

use super::house::{connect, open, outcome, say, say_within, settings, start, surroundings};

/// Replies with the turn number and its input, and with the line of a variable.
const ECHO: &str = r#"
n=0
while IFS= read -r line; do
  n=$((n + 1))
  message=$(printf '%s' "$line" | sed 's/.*"message":"\([^"]*\)".*/\1/')
  echo "heard $message" >&2
  printf '{"text":"%s %s","actions":["ECHO"],"tool_calls":[{"name":"count","arguments":{"n":%s}}]}\n' "$n" "$message" "$n"
done
"#;

/// The same for many conversations, with the id of the request.
const SHARED: &str = r#"
echo ready >&2
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*[,{]"id":"\([^"]*\)".*/\1/')
  conversation=$(printf '%s' "$line" | sed 's/.*"conversation":"\([^"]*\)".*/\1/')
  printf '{"id":"nobody","text":"for nobody"}\n{"text":"without an id"}\n' | head -1
  printf '{"id":"%s","text":"%s by %s"}\n' "$id" "$conversation" "$$"
done
"#;

fn program(script: &str, more: Value) -> Value {
    let mut subprocess = json!({ "command": ["sh", "-c", script] });
    if let (Value::Object(subprocess), Value::Object(more)) = (&mut subprocess, more) {
        subprocess.extend(more);
    }
    json!({ "subprocess": subprocess })
}

#[tokio::test]
async fn a_program_talks_in_lines() {
    let agent = connect(program(ECHO, json!({})));
    let mut session = open(&*agent, "t1").await;
    let first = say(&mut *session, 1, "hello").await.expect("a reply");
    assert_eq!((first.text.as_str(), &first.actions[..]), ("1 hello", &["ECHO".to_owned()][..]));
    assert_eq!((first.tool_calls[0].name.as_str(), first.tool_calls[0].arguments.as_str()), ("count", "{\"n\":1}"));
    let second = say(&mut *session, 2, "again").await.expect("a reply");
    assert_eq!(second.text, "2 again", "it remembers");
    let notes: Vec<_> =
        first.notes.iter().chain(&second.notes).map(|note| (note.kind.as_str(), note.text.trim())).collect();
    assert!(notes.iter().any(|(kind, text)| *kind == "stderr" && text.contains("heard hello")), "{notes:?}");
    assert_eq!(
        outcome(&say(&mut *open(&*agent, "t2").await, 1, "hi").await).1,
        "1 hi",
        "another conversation, another process"
    );
}

#[tokio::test]
async fn one_program_for_all_conversations() {
    let agent = connect(program(SHARED, json!({ "process": "shared" })));
    let (mut one, mut two) = (open(&*agent, "t1").await, open(&*agent, "t2").await);
    let (first, second) = tokio::join!(say(&mut *one, 1, "a"), say(&mut *two, 1, "b"));
    let (first, second) = (outcome(&first).1, outcome(&second).1);
    assert!(first.starts_with("t1 by ") && second.starts_with("t2 by "), "{first:?} {second:?}");
    assert_eq!(first[6..], second[6..], "the same process");
}

#[tokio::test]
async fn its_input_and_its_environment() {
    let script = r#"read -r line; printf '{"text":"%s"}\n' "$(printf '%s|%s|%s' "$line" "$GREETING" "$CARGO_PKG_NAME" | sed 's/"/'"'"'/g')""#;
    let agent = connect(program(script, json!({ "variables": { "GREETING": "hello" } })));
    let said = outcome(&say(&mut *open(&*agent, "t1").await, 1, "hi").await).1;
    for part in [
        "'message':'hi'",
        "'conversation':'t1'",
        "'turn':1",
        "'scenario':'refund'",
        "'persona':'ann'",
        "'history':[]",
        "'messages':[{'role':'user','content':'hi'}]",
        "'id':'t1/1/0'",
        "'traceparent':'00-",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.ends_with("|hello|"), "it sees its own variables and not ours: {said}");
}

#[tokio::test]
async fn a_key_of_its_variables_is_struck_out() {
    let script = r#"read -r line; echo "I know $TOKEN" >&2; printf 'no JSON: %s\n' "$TOKEN""#;
    let agent = connect(program(script, json!({ "variables": { "TOKEN": "env:CARGO_MANIFEST_DIR" } })));
    let error = say(&mut *open(&*agent, "t1").await, 1, "hi").await.expect_err("no JSON");
    assert!(!format!("{error:?}").contains(env!("CARGO_MANIFEST_DIR")), "{error:?}");
}

#[tokio::test]
async fn streamed_words_are_timed() {
    let script = r#"read -r line; echo '{"delta":"Hel"}'; sleep 0.1; echo '{"delta":"lo"}'; sleep 0.1; echo '{"done":true}'; cat >&2"#;
    let agent = connect(program(script, json!({})));
    let reply = say(&mut *open(&*agent, "t1").await, 1, "hi").await.expect("a reply");
    assert_eq!(reply.text, "Hello");
    let first = reply.timing.first_token.expect("streamed");
    assert!(first < reply.timing.total && reply.timing.total >= Duration::from_millis(150), "{:?}", reply.timing);
}

#[tokio::test]
async fn programs_that_go_wrong() {
    use FailureKind::{AgentEmpty, AgentMalformed, AgentTimeout, AgentUnreachable};
    let rows = [
        (
            "it dies",
            "read -r line; echo 'no such model' >&2; exit 3",
            AgentUnreachable,
            "exit code 3; it wrote: no such model",
        ),
        ("it dies at once", "exit 4", AgentUnreachable, "exit code 4"),
        ("it is killed", "read -r line; kill -9 $$", AgentUnreachable, "ended by signal 9"),
        ("it closes its stdout", "read -r line; exec >&-; sleep 60", AgentUnreachable, "it closed its stdout"),
        ("it hangs", "read -r line; sleep 60", AgentTimeout, "300 ms"),
        ("it babbles", "read -r line; echo 'Loading the model'; cat", AgentMalformed, "it is not JSON"),
        (
            "it floods",
            "read -r line; head -c 5000000 /dev/zero | tr '\\0' x; sleep 60",
            AgentUnreachable,
            "a line of more than",
        ),
        ("its error", r#"read -r line; echo '{"error":"sold out"}'; cat"#, AgentMalformed, "an error: sold out"),
        ("nothing", r#"read -r line; echo '{"text":""}'; cat"#, AgentEmpty, "answered nothing"),
    ];
    for (what, script, kind, says) in rows {
        let agent = connect(program(script, json!({})));
        let timeout = Duration::from_millis(if kind == AgentTimeout { 300 } else { 20_000 });
        let mut session = open(&*agent, "t1").await;
        let (found, message) = outcome(&say_within(&mut *session, 1, "hi", timeout).await);
        assert_eq!(found, Some(kind), "{what}: {message}");
        assert!(message.contains(says), "{what}: {message}");
        if kind == AgentTimeout {
            let again = outcome(&say(&mut *session, 2, "hi").await);
            assert!(again.1.contains("an earlier message was given up"), "{again:?}");
        }
    }
}

#[tokio::test]
async fn its_children_end_with_the_conversation() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = r#"(sleep 0.4; echo late > alive) & read -r line; echo '{"text":"hi"}'; cat"#;
    let surroundings = Surroundings { folder: folder.path().to_owned(), ..surroundings() };
    let agent = agent::connect("shop", &settings(program(script, json!({}))), &surroundings).unwrap().unwrap();
    let mut session = open(&*agent, "t1").await;
    assert_eq!(outcome(&say(&mut *session, 1, "hi").await).1, "hi");
    drop(session);
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert!(!folder.path().join("alive").exists(), "its child lived on");
}

#[tokio::test]
async fn only_if_the_operator_allows_it() {
    let surroundings = Surroundings { may_execute: false, ..surroundings() };
    let agent = agent::connect("shop", &settings(program(ECHO, json!({}))), &surroundings).unwrap().unwrap();
    let Err(error) = agent.open(start("t1")).await else { panic!("it was started") };
    assert_eq!(error.kind, FailureKind::ExecutionNotAllowed);
    assert!(error.message.contains("--allow-exec=host"), "{error}");
}

#[tokio::test]
async fn a_program_that_is_not_there() {
    let agent = connect(json!({ "subprocess": { "command": ["/no/such/program"] } }));
    let Err(error) = agent.open(start("t1")).await else { panic!("it was started") };
    assert_eq!(error.kind, FailureKind::Misconfigured);
    assert!(error.message.contains("/no/such/program"), "{error}");
    let empty = agent::connect("shop", &settings(json!({ "subprocess": { "command": [] } })), &surroundings());
    assert!(empty.expect_err("refused").to_string().contains("subprocess.command is empty"));
}
