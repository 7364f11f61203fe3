//! Agents that call their tools themselves get the addresses, each in its own way.

use std::sync::Arc;

use agent::{Agent, Settings};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::{
    Message,
    handshake::server::{Request, Response},
};

use super::{
    bad_server::{Answer, Server},
    house::{connect, say, settings, start},
};

const TOOLS: &str = "http://127.0.0.1:1/t/secret/tools";
const MCP: &str = "http://127.0.0.1:1/t/secret/mcp";

/// A conversation of an agent with or without tools.
async fn open(agent: &dyn Agent, tools: bool) -> Box<dyn agent::Session> {
    let mut start = start("t1");
    if tools {
        (start.context.tools_url, start.context.mcp_url) = (TOOLS.to_owned(), MCP.to_owned());
    }
    agent.open(start).await.expect("opens")
}

#[tokio::test]
async fn an_http_agent_has_placeholders_and_headers() {
    let server = Server::start(vec![Answer::json(200, &json!({ "reply": "hi" })); 2]).await;
    let agent = connect(json!({ "http": {
        "url": format!("{}/chat?tools={{{{ tools_url }}}}", server.url),
        "headers": { "x-own": "at {{ mcp_url }}" },
        "body": { "tools": "{{ tools_url }}", "mcp": ["{{ mcp_url }}"] },
        "reply": { "text": "$.reply" },
    } }));
    for tools in [true, false] {
        say(&mut *open(&*agent, tools).await, 1, "hello").await.expect("a reply");
    }
    let calls = server.calls.lock().unwrap();
    assert!(
        calls[0].path.ends_with("/chat?tools=http%3A%2F%2F127.0.0.1%3A1%2Ft%2Fsecret%2Ftools"),
        "{}",
        calls[0].path
    );
    assert_eq!(calls[0].body, json!({ "tools": TOOLS, "mcp": [MCP] }));
    let header =
        |call: usize, name: &str| calls[call].headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    assert_eq!(header(0, "x-gabfest-tools-url").as_deref(), Some(TOOLS));
    assert_eq!(header(0, "x-gabfest-mcp-url").as_deref(), Some(MCP));
    assert_eq!(header(0, "x-own"), Some(format!("at {MCP}")));
    assert_eq!((&calls[1].body, header(1, "x-gabfest-tools-url")), (&json!({ "tools": "", "mcp": [""] }), None));
}

#[tokio::test]
async fn an_agent_of_elizaos_has_them_beside_its_messages() {
    let session = Answer::json(201, &json!({ "sessionId": "s1" }));
    let reply = Answer::json(200, &json!({ "agentResponse": { "text": "hi" } }));
    let server = Server::start(vec![session, reply]).await;
    let agent = connect(json!({ "eliza": {
        "url": server.url.trim_end_matches("/v1"),
        "agent": "b850bc30-45f8-0041-a00a-83df46d8555d", "transport": "http",
    } }));
    say(&mut *open(&*agent, true).await, 1, "hello").await.expect("a reply");
    let calls = server.calls.lock().unwrap();
    assert_eq!(
        calls[1].body["metadata"],
        json!({ "conversation": "t1", "turn": 1, "tools_url": TOOLS, "mcp_url": MCP })
    );
    assert_eq!(calls[1].headers["x-gabfest-mcp-url"], MCP);
}

#[tokio::test]
async fn a_program_has_variables_and_fields() {
    let script = r#"
        read -r line
        field=$(printf '%s' "$line" | sed 's/.*"mcp_url":"\([^"]*\)".*/\1/')
        printf '{"text":"%s %s %s"}\n' "${GABFEST_TOOLS_URL-none}" "${GABFEST_MCP_URL-none}" "$field"
    "#;
    let agent = connect(json!({ "subprocess": { "command": ["sh", "-c", script] } }));
    for (tools, expected) in [(true, format!("{TOOLS} {MCP} {MCP}")), (false, "none none ".to_owned())] {
        let reply = say(&mut *open(&*agent, tools).await, 1, "hello").await.expect("a reply");
        assert_eq!(reply.text, expected);
    }
}

#[tokio::test]
async fn a_websocket_has_headers_and_placeholders() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/talk", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut told = String::new();
        #[expect(clippy::result_large_err, reason = "the library's callback has this type")]
        let look = |request: &Request, response: Response| {
            told = request.headers()["x-gabfest-mcp-url"].to_str().unwrap().to_owned();
            Ok(response)
        };
        let mut socket = tokio_tungstenite::accept_hdr_async(stream, look).await.unwrap();
        let heard = socket.next().await.unwrap().unwrap().into_text().unwrap();
        socket.send(Message::text(format!("{told} {heard}"))).await.unwrap();
    });
    let agent = connect(json!({ "websocket": { "url": url, "message": "{{ tools_url }}" } }));
    let reply = say(&mut *open(&*agent, true).await, 1, "hello").await.expect("a reply");
    assert_eq!(reply.text, format!("{MCP} {TOOLS}"));
}

#[tokio::test]
async fn a_chat_model_gets_addresses_if_its_settings_say_so() {
    let model = || -> Arc<dyn llm::Chat> { Arc::new(llm::mock::Mock::new("mock", Default::default())) };
    let rows: [(Value, bool); 3] =
        [(json!({}), false), (json!({ "tool_addresses": false }), false), (json!({ "tool_addresses": true }), true)];
    for (written, told) in rows {
        let agent = agent::build("shop", &settings(written.clone()), model());
        assert_eq!((agent.uses_tools(), agent.calls_tools_itself()), (true, told), "{written}");
    }
    let http = json!({ "url": "http://127.0.0.1:9/" });
    for (written, told) in [
        (json!({ "http": http }), true),
        (json!({ "http": http, "tool_addresses": false }), false),
        (json!({ "emely": { "url": "http://127.0.0.1:9/" } }), false),
        (json!({ "replayed": { "answers": ["hi"] } }), false),
    ] {
        assert_eq!(connect(written.clone()).calls_tools_itself(), told, "{written}");
    }
}

#[test]
fn agents_without_tools_get_no_addresses() {
    let rows = [
        (json!({ "replayed": { "answers": ["hi"] }, "tool_addresses": true }), Some("`replayed`")),
        (json!({ "interactive": {}, "tool_addresses": false }), Some("`interactive`")),
        (json!({ "kind": "mock", "tool_addresses": true }), Some("the built-in mock")),
        (json!({ "endpoint": "gpt", "tool_addresses": true }), None),
        (json!({ "http": { "url": "http://h" }, "tool_addresses": true }), None),
    ];
    for (written, who) in rows {
        let settings: Settings = settings(written.clone());
        let fault = settings.fault();
        assert_eq!(fault.as_ref().map(|fault| fault.0.as_str()), who.map(|_| "tool_addresses"), "{written}");
        assert!(who.is_none_or(|who| fault.unwrap().1.contains(who)), "{written}");
    }
}
