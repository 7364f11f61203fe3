//! Opens a conversation with the agent: its plugins, its tools and its earlier messages.

use std::sync::Arc;

use agent::{Agent, Start, Tools};
use record::{Failure, Role};
use scenario::Plugin;

use super::stage::Stage;

pub(super) async fn open(stage: &mut Stage, agent: &dyn Agent) -> Result<(), Failure> {
    let script = Arc::clone(&stage.script);
    let plugins = plugins(stage, agent);
    let number = stage.line.count_conversation(stage.transcript.next_number());
    // Requests of judges and of the simulated user carry the id of this conversation too.
    stage.calling.context.conversation = stage.ticket.conversation_id(number);
    let mut context = llm::Context { role: Role::Agent.name().to_owned(), ..stage.calling.context.clone() };
    let tools = tools(stage, agent, &mut context).await?;
    let start = Start {
        conversation: context.conversation.clone(),
        context,
        seed: stage.ticket.trial.seed,
        opening: stage.line.take_history().unwrap_or_else(|| script.scenario.opening.clone()),
        plugins,
        tools,
    };
    stage.line.open(agent, start).await
}

/// The scenario's plugins. An agent that does not understand plugins ignores them, and a note in the record says so.
fn plugins(stage: &mut Stage, agent: &dyn Agent) -> Vec<Plugin> {
    let plugins: Vec<_> = stage.script.scenario.plugins.iter().filter(|plugin| plugin.enabled).cloned().collect();
    if !plugins.is_empty() && !agent.understands_plugins() {
        let names: Vec<&str> = plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        let text = format!("agent {} does not understand plugins; not handed over: {}", agent.name(), names.join(", "));
        stage.transcript.note("plugins", text);
    }
    plugins
}

/// The scenario's mocks. An agent that calls its tools itself gets the address at which they are served.
async fn tools(
    stage: &mut Stage,
    agent: &dyn Agent,
    context: &mut llm::Context,
) -> Result<Option<Arc<Tools>>, Failure> {
    let script = Arc::clone(&stage.script);
    let mocks = &script.scenario.mocks;
    if mocks.is_empty() || stage.ticket.scripts.plan().live {
        return Ok(None);
    }
    let tools = stage.line.toolbox.tools(&script.scenario, &stage.calling, stage.resources.now_millis);
    if agent.calls_tools_itself() {
        let registration = stage.line.toolbox.register(&stage.resources.tool_server).await?;
        (context.tools_url, context.mcp_url) = (registration.tools_url(), registration.mcp_url());
    } else if !agent.uses_tools() {
        stage.line.toolbox.is_not_used();
        let text = format!(
            "agent {} answers its tool calls itself; {} mocks of the scenario are not applied",
            agent.name(),
            mocks.len()
        );
        stage.transcript.note("mocks", text);
    }
    Ok(Some(tools))
}
