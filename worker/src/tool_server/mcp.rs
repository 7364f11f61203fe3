//! Tools by the Model Context Protocol (streamable HTTP, without sessions).

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, Request, State},
    response::Response,
};
use rmcp::{
    RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService, streamable_http_server::session::never::NeverSessionManager,
    },
};
use serde_json::Value;

use super::{
    handler::{Handler, Outcome},
    request::{LONGEST_ID, MOST_BYTES, Served, body_of, nobody_there},
};

/// The key in a call's `_meta` by which an agent says which call of its reply this one is.
const CALL_ID: &str = "toolCallId";

/// The tools of one trial. Created for each request; nothing is kept between requests.
struct Server(Arc<Handler>);

/// Answers one request.
pub(super) async fn serve(State(served): State<Arc<Served>>, Path(token): Path<String>, request: Request) -> Response {
    let Some(handler) = served.registry.find(&token) else { return nobody_there() };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_hosts(served.hosts.iter().cloned())
        // Programs send no origin. A page in a browser does, and must not call tools.
        .enforce_origin_validation()
        .with_max_request_body_bytes(MOST_BYTES)
        .with_cancellation_token(handler.over.child_token());
    let (head, body) = request.into_parts();
    let body = match body_of(&handler, Request::from_parts(head.clone(), body)).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    let request = Request::from_parts(head, Body::from(body));
    let make = move || Ok(Server(Arc::clone(&handler)));
    let service = StreamableHttpService::new(make, Arc::new(NeverSessionManager::default()), config);
    service.handle(request).await.map(Body::new)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("gabfest", env!("CARGO_PKG_VERSION")))
            .with_instructions("The tools of one conversation of a test; answers are scripted.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.offered().into_iter();
        let tools = tools.map(|tool| Tool::new(tool.name, tool.description, tool.parameters)).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // The library moves `_meta` from the call to the context.
        let id = context.meta.0.0.get(CALL_ID).and_then(Value::as_str).filter(|id| id.len() <= LONGEST_ID);
        let arguments = Value::Object(call.arguments.unwrap_or_default());
        let written = arguments.to_string();
        let result = match self.0.call(id.unwrap_or_default(), &call.name, arguments, written).await {
            Outcome::Answered(answer) => {
                let content = vec![ContentBlock::text(answer.text())];
                match answer.result {
                    Ok(_) => CallToolResult::success(content),
                    Err(_) => CallToolResult::error(content),
                }
            }
            Outcome::Unknown => return Err(ErrorData::invalid_params(self.0.no_such_tool(&call.name), None)),
            Outcome::TooMany => CallToolResult::error(vec![ContentBlock::text("too many calls in one turn")]),
            Outcome::Over => return Err(ErrorData::invalid_request("the conversation is over", None)),
        };
        Ok(result.into())
    }
}
