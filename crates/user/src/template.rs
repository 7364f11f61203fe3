//! The prompt of a scenario's author: a template that is rendered without files and with bounded work.

use std::sync::Arc;

use minijinja::{Environment, UndefinedBehavior, context};
use scenario::user::Invent;

use crate::prompt::{self, Sheet};

/// The limit of instructions of a rendering. A prompt of 16 KiB needs a few thousand.
const FUEL: u64 = 200_000;
const NAME: &str = "prompt";

/// A template does not compile or does not render.
#[derive(Debug, thiserror::Error)]
#[error("failed to render the prompt template {path:?}: {message}")]
pub struct Error {
    path: String,
    message: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Template {
    path: String,
    environment: Arc<Environment<'static>>,
}

impl Template {
    pub(crate) fn new(path: &str, text: &str) -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL));
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_template_owned(NAME, text.to_owned()).map_err(|error| fault(path, &error))?;
        Ok(Self { path: path.to_owned(), environment: Arc::new(environment) })
    }

    pub(crate) fn render(&self, sheet: &Sheet<'_>) -> Result<String, Error> {
        let Sheet { simulator, goal, state, tools, situation, may_end, .. } = *sheet;
        let extras = &simulator.extras;
        let facts: Vec<_> = extras
            .facts
            .iter()
            .map(|(name, fact)| context! { name, value => fact.value.as_str(), tell => fact.tell.name() })
            .collect();
        let parts: Vec<_> = goal
            .parts(&extras.goal)
            .map(|(part, status, blocked)| {
                context! { id => part.id.as_str(), text => part.text.as_str(), status => status.name(), blocked }
            })
            .collect();
        let variables = context! {
            persona => simulator.persona.as_str(),
            objective => simulator.objective.as_str(),
            style => simulator.style.clone(),
            constraints => simulator.constraints.clone(),
            emotional_state => simulator.emotional_state.clone(),
            knowledge_level => simulator.knowledge_level.name(),
            agent_is => extras.agent_is(),
            language => prompt::language(extras),
            facts,
            unknown => extras.unknown.clone(),
            invent => if extras.invent == Some(Invent::Harmless) { "harmless" } else { "nothing" },
            goal => parts,
            state => context! {
                say => state.and_then(|state| state.say.as_deref()).unwrap_or_default(),
                mood => state.and_then(|state| state.mood.as_deref()).unwrap_or_default(),
            },
            tools => tools
                .iter()
                .map(|tool| context! { name => tool.name.as_str(), description => tool.description.as_str() })
                .collect::<Vec<_>>(),
            turn => situation.line,
            turns_left => situation.lines_left,
            stop_rules => if may_end { prompt::stop_rules(extras) } else { String::new() },
            reply_form => prompt::reply_form(extras, tools, may_end),
        };
        let template = self.environment.get_template(NAME).map_err(|error| fault(&self.path, &error))?;
        template.render(variables).map_err(|error| fault(&self.path, &error))
    }
}

fn fault(path: &str, error: &minijinja::Error) -> Error {
    Error { path: path.to_owned(), message: error.to_string() }
}
