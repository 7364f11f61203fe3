//! Requests an answer by schema as the arguments of a tool, for servers that support tools and no schemas.

use serde_json::{Map, Value, json};

use crate::chat::{Finish, Reply, Request};

/// The tool that takes the answer.
pub(crate) const NAME: &str = "reply";

/// The request with the tool; `force` adds what makes the model call it. `None` if the request has no schema, or has
/// its own tools.
pub(crate) fn request(request: &Request, force: impl FnOnce() -> Map<String, Value>) -> Option<Box<Request>> {
    let schema = request.schema.as_ref().filter(|_| request.tools.is_empty())?;
    let tool = json!({ "type": "function",
        "function": { "name": NAME, "description": "Takes your whole answer.", "parameters": schema } });
    let mut asked = Request { tools: vec![tool], schema: None, ..request.clone() };
    asked.extra.extend(force());
    // Boxed, because thousands of calls without a schema wait at once.
    Some(Box::new(asked))
}

/// The reply, with the tool's arguments as its text. A model that did not call the tool keeps its text.
pub(crate) fn reply(mut reply: Reply) -> Reply {
    if let Some(place) = reply.tool_calls.iter().position(|call| call.name == NAME) {
        reply.text = reply.tool_calls.swap_remove(place).arguments;
        reply.tool_calls.clear();
        if reply.finish == Finish::ToolCalls {
            reply.finish = Finish::Stop;
        }
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionCall;

    #[test]
    fn a_schema_becomes_a_tool_and_its_call_the_answer() {
        let force = || json!({ "tool_choice": "required" }).as_object().cloned().expect("an object");
        let schema = json!({ "type": "object" });
        let asked = Request { schema: Some(schema.clone()), ..Request::default() };
        let sent = request(&asked, force).expect("a request");
        assert_eq!((&sent.schema, &sent.extra["tool_choice"]), (&None, &json!("required")));
        assert_eq!(sent.tools[0]["function"]["parameters"], schema);
        let own_tools = Request { tools: vec![json!({})], ..asked };
        assert!(request(&own_tools, force).is_none() && request(&Request::default(), force).is_none());

        let call = FunctionCall { id: "1".into(), name: NAME.into(), arguments: "{\"a\":1}".into() };
        let called = Reply { tool_calls: vec![call], finish: Finish::ToolCalls, ..Reply::default() };
        let said = reply(called);
        assert_eq!((&*said.text, said.tool_calls.len(), said.finish), ("{\"a\":1}", 0, Finish::Stop));
        let cut = Reply { text: "half".into(), finish: Finish::Length, ..Reply::default() };
        assert_eq!(reply(cut.clone()), cut);
    }
}
