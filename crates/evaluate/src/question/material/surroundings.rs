//! What belongs to a conversation and was not said in it: instructions, goal, opening and end state, as a check shows them.

use super::{Cow, JudgeSees, Map, Subject, TEXT_BYTES, TOTAL_BYTES, Value, json, shortened, show};
use crate::subject::EndState;

/// Adds what the check shows its judge. `null`: it is not known.
pub(super) fn add(subject: &Subject<'_>, fields: &mut Map<String, Value>, images: &mut Vec<String>) {
    let sees = |what: JudgeSees| subject.judging.sees(what);
    let around = subject.workspace.surroundings(subject.scope);
    if sees(JudgeSees::System) {
        let text = around.system.as_deref().map_or(Value::Null, |text| shortened(text, TEXT_BYTES).into());
        fields.insert("agent_instructions".to_owned(), text);
    }
    if sees(JudgeSees::Goal) {
        let parts = around.goal.iter().map(|part| Value::from(shortened(part, TEXT_BYTES)));
        let goal = if around.goal.is_empty() { Value::Null } else { parts.collect() };
        fields.insert("user_goal".to_owned(), goal);
    }
    if sees(JudgeSees::Opening) {
        let limit = TEXT_BYTES.min(TOTAL_BYTES / around.opening.len().max(1));
        let of_message = |message: &scenario::Message| {
            let mut fields = Map::new();
            fields.insert(message.speaker.name().to_owned(), shortened(&message.text(), limit).into());
            show(std::slice::from_ref(message), images, &mut fields);
            Value::Object(fields)
        };
        fields.insert("before_the_first_turn".to_owned(), around.opening.iter().map(of_message).collect());
    }
    if sees(JudgeSees::EndState) {
        let states = subject.workspace.end_states();
        let limit = TEXT_BYTES.min(TOTAL_BYTES / states.len().max(1));
        fields.insert("end_state".to_owned(), states.iter().map(|state| of_state(state, limit)).collect());
    }
}

/// A large state is shown as text, with its middle left out.
fn of_state(EndState { of, state }: &EndState, limit: usize) -> Value {
    let text = state.to_string();
    let state = if text.len() <= limit { visible(state) } else { shortened(&text, limit).into() };
    json!({ "of": shortened(of, limit), "state": state })
}

/// Without characters that people do not see.
fn visible(value: &Value) -> Value {
    let text = |text: &str| match shortened(text, usize::MAX) {
        Cow::Borrowed(same) => same.to_owned(),
        Cow::Owned(clean) => clean,
    };
    match value {
        Value::String(written) => text(written).into(),
        Value::Array(items) => items.iter().map(visible).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (text(name), visible(value))).collect(),
        other => other.clone(),
    }
}

/// What the names above mean, for the prompt.
pub(crate) fn legend(sees: &[JudgeSees]) -> String {
    let line = |what: &JudgeSees| match what {
        JudgeSees::System => "`agent_instructions` is the agent's system prompt (null if it is not known).",
        JudgeSees::Goal => "`user_goal` is what the user wants (null if it is not known).",
        JudgeSees::Opening => "`before_the_first_turn` was said before the turns.",
        JudgeSees::EndState => {
            "`end_state` was read from the systems behind the agent after the turns: it shows what happened, whatever was said."
        }
    };
    let lines: Vec<&str> = sees.iter().map(line).collect();
    lines.join(" ")
}
