//! The key `gabfest` of a simulated user, in scenarios and personas: its template's text, and checks beyond its types.

mod states;

use std::{collections::BTreeSet, sync::LazyLock};

use minijinja::{Environment, ErrorKind, Template, UndefinedBehavior, context};
use regex::Regex;
use scenario::{
    check::wording,
    format::Files,
    mock::Mock,
    user::{DoneWhen, Extras, MOST_TEMPLATE_BYTES, Part as GoalPart, SelfCheck, ThinkTime, VARIABLES},
};
use serde_json::{Value, json};
use yaml::{
    Document, Findings, Part,
    path::{Path, Segment},
    suggest,
};

/// A prompt reads no other files.
static OTHER_FILES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{%-?\s*(include|import|extends|from)\b").expect("the expression is fixed, and a test compiles it")
});

/// The limit of instructions of a rendering with sample values.
const FUEL: u64 = 200_000;
/// The items of sample lists: more than a template names by their number.
const SAMPLES: usize = 32;
/// Functions of the template engine, which it reports like variables.
const FUNCTIONS: [&str; 4] = ["range", "dict", "namespace", "debug"];

/// Puts the text of each prompt file into the document. `users`: the paths of the mappings that have the key `gabfest`.
pub(crate) fn put_prompts_in(document: &mut Document, users: &[Path], files: &mut dyn Files, findings: &mut Findings) {
    let mut texts = Vec::new();
    for user in users {
        let path = [key("gabfest"), key("prompt")].into_iter().fold(user.clone(), |path, segment| path.join(segment));
        let Some(Value::String(name)) = path.find(&document.value).cloned() else { continue };
        match files.text(&document.path, &name) {
            Ok(text) => texts.push((path, json!({ "path": name, "text": text }))),
            Err(fault) => {
                let spot = document.root().nearest(&path).spot();
                findings.error(spot, format!("the prompt file `{name}` {fault}"));
            }
        }
    }
    for (path, text) in texts {
        path.set(&mut document.value, text).expect("the path was just walked");
    }
}

pub(crate) fn key(name: &str) -> Segment {
    Segment::Key(name.to_owned())
}

/// Reports faults of the keys beyond their types. `part`: the mapping `gabfest`.
pub(crate) fn check(part: &Part<'_>, extras: &Extras, findings: &mut Findings) {
    check_goal(part, &extras.goal, findings);
    check_violations(part, extras, findings);
    check_script(part, extras, findings);
    states::check(part, extras, findings);
    check_think_time(part, extras.think_time, findings);
    if let Some(prompt) = &extras.prompt {
        check_template(part, &prompt.path, &prompt.text, findings);
    }
}

/// Reports what is missing or does not go together in `think_time`. `part`: the mapping `gabfest`.
pub(crate) fn check_think_time(part: &Part<'_>, time: Option<ThinkTime>, findings: &mut Findings) {
    if let Some((key, fault)) = time.and_then(|time| time.fault()) {
        let spot = part.get("think_time").map_or(part.spot(), |written| written.key_spot(key));
        findings.error(spot, fault);
        findings.help("write `think_time: { ms: 3000 }`, or `{ kind: lognormal, ms: 3000, sigma: 0.5 }`");
    }
}

fn check_violations(part: &Part<'_>, extras: &Extras, findings: &mut Findings) {
    let mut known = BTreeSet::new();
    for (written, one) in part.items_of("violations").iter().zip(&extras.violations) {
        if !known.insert(one.id.as_str()) {
            findings.error(written.spot_of("id"), format!("the violation `{}` exists already", one.id));
        }
        wording::check_violation(&format!("the violation `{}`", one.id), &one.text, written.spot_of("text"), findings);
    }
    // A persona can choose the checker, and the scenario what is checked.
    let is_off = extras.self_check.is_some_and(|by| by != SelfCheck::Model);
    if is_off && !extras.violations.is_empty() {
        findings.error(part.spot_of("violations"), "nothing checks `violations`".to_owned());
        findings.help("write `self_check: model`, so that a judge reads the user's lines");
    }
}

fn check_script(part: &Part<'_>, extras: &Extras, findings: &mut Findings) {
    let mut known = BTreeSet::new();
    for (written, line) in part.items_of("script").iter().zip(&extras.script) {
        let turn = line.turn.0;
        if !known.insert(turn) {
            findings.error(written.spot_of("turn"), format!("`script` has turn {turn} already"));
        }
    }
}

/// Reports faults in the checks of the user's goal. `part`: the mapping `conversation`; `goal`: that of the scenario.
pub(crate) fn check_goal_checks(part: &Part<'_>, goal: &[GoalPart], findings: &mut Findings) {
    let is_one = |check: &Part<'_>| check.get("type").is_some_and(|kind| kind.value().as_str() == Some("goal_reached"));
    for check in part.items_of("turn_evaluations").iter().filter(|check| is_one(check)) {
        findings.error(check.spot(), "`goal_reached` judges a whole conversation");
        findings.help("write it in `final_evaluations`");
    }
    // Without parts here, they come with a persona.
    for check in part.items_of("final_evaluations").iter().filter(|check| is_one(check) && !goal.is_empty()) {
        for written in check.items_of("parts") {
            let id = written.value().as_str().unwrap_or_default();
            if !goal.iter().any(|part| part.id == id) {
                findings.error(written.spot(), format!("the user's goal has no part `{id}`"));
                findings.help(suggest::known_names(id, goal.iter().map(|part| part.id.as_str())));
            }
        }
    }
}

/// Reports tools of the user that no mock answers. `step`: one element of `run`.
pub(crate) fn check_tools(step: &Part<'_>, mocks: &[Mock], findings: &mut Findings) {
    let user = step.get("conversation").and_then(|conversation| conversation.get("user_simulator"));
    for written in user.and_then(|user| user.get("gabfest")).map_or_else(Vec::new, |ours| ours.items_of("tools")) {
        let name = written.value().as_str().unwrap_or_default();
        if !mocks.iter().any(|mock| mock.answers(name)) {
            findings.error(written.spot(), format!("no mock answers the tool `{name}`"));
            let known: Vec<String> = mocks.iter().map(Mock::tool_name).collect();
            findings.help(if known.is_empty() {
                "write a mock of it below `setup.mocks`".to_owned()
            } else {
                suggest::known_names(name, known.iter().map(String::as_str))
            });
        }
    }
}

/// Reports lines of the script that no conversation of at most so many turns comes to.
pub(crate) fn check_script_length(part: &Part<'_>, extras: &Extras, most: u32, findings: &mut Findings) {
    for (written, line) in part.items_of("script").iter().zip(&extras.script).filter(|(_, line)| line.turn.0 > most) {
        let message = format!("`turn` is {}, and the conversation has at most {most} turns", line.turn.0);
        findings.error(written.spot_of("turn"), message);
        findings.help("write a smaller `turn`, or more `max_turns`");
    }
}

fn check_goal(part: &Part<'_>, goal: &[GoalPart], findings: &mut Findings) {
    let mut known = BTreeSet::new();
    let ids: Vec<&str> = goal.iter().map(|part| part.id.as_str()).collect();
    for (written, one) in part.items_of("goal").iter().zip(goal) {
        if !known.insert(one.id.as_str()) {
            findings.error(written.spot_of("id"), format!("the part `{}` exists already", one.id));
        }
        if let (Some(fault), Some(when)) = (one.done_when.as_ref().and_then(DoneWhen::fault), written.get("done_when"))
        {
            findings.error(when.spot(), fault);
        }
        if let Some(question) = one.done_when.as_ref().and_then(|when| when.ask.as_deref()) {
            let spot = written.get("done_when").map_or(written.spot(), |when| when.spot_of("ask"));
            wording::check_question("`ask`", question, spot, findings);
        } else if one.asks_judge() {
            wording::check_criterion(&format!("the part `{}`", one.id), &one.text, written.spot_of("text"), findings);
        }
        for before in &one.after {
            if !ids.contains(&before.as_str()) {
                findings.error(written.spot_of("after"), format!("`after` names no part of the goal: `{before}`"));
                findings.help(suggest::known_names(before, ids.iter().copied()));
            }
        }
    }
    // Parts that wait for each other are never done. Remove those that can be done in turn.
    let mut left: Vec<usize> = (0..goal.len()).collect();
    loop {
        let waits =
            |index: &usize| goal[*index].after.iter().any(|before| left.iter().any(|it| goal[*it].id == *before));
        let still: Vec<usize> = left.iter().copied().filter(waits).collect();
        if still.len() == left.len() {
            break;
        }
        left = still;
    }
    if let Some(first) = left.first() {
        let spot = part.items_of("goal").get(*first).map_or(part.spot(), |written| written.spot_of("after"));
        findings.error(spot, format!("the part `{}` waits for itself through `after`", goal[*first].id));
    }
}

/// An unknown filter, test or function, or an attribute that does not exist: its line, and what is wrong.
fn fault_of_names(environment: &Environment<'_>, template: &Template<'_, '_>, text: &str) -> Option<(usize, String)> {
    let told = |error: &minijinja::Error| {
        error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()))
    };
    for used in scenario::template::used(text) {
        let unknown = environment.compile_expression(&used.probe()).and_then(|probe| probe.eval(()));
        if let Err(error) = unknown
            && matches!(error.kind(), ErrorKind::UnknownFilter | ErrorKind::UnknownTest)
        {
            return Some((used.line, told(&error)));
        }
    }
    let texts = ["x"; SAMPLES];
    let sample = context! {
        persona => "x", objective => "x", style => "x", constraints => texts, emotional_state => "x",
        knowledge_level => "expert", agent_is => "x", language => "x", unknown => texts, invent => "nothing",
        facts => vec![context! { name => "x", value => "x", tell => "asked" }; SAMPLES],
        goal => vec![context! { id => "x", text => "x", status => "open", blocked => false }; SAMPLES],
        state => context! { say => "x", mood => "x" },
        tools => vec![context! { name => "x", description => "x" }; SAMPLES],
        turn => 2, turns_left => 2, stop_rules => "x", reply_form => "x",
    };
    let error = template.render(sample).err()?;
    let what = match error.kind() {
        ErrorKind::UnknownFunction | ErrorKind::UnknownMethod => told(&error),
        ErrorKind::UndefinedError => "it takes an attribute that does not exist".to_owned(),
        _ => return None,
    };
    Some((error.line().unwrap_or(1), what))
}

fn check_template(part: &Part<'_>, path: &str, text: &str, findings: &mut Findings) {
    let spot = part.spot_of("prompt");
    if text.len() > MOST_TEMPLATE_BYTES {
        let message =
            format!("the prompt `{path}` has {} bytes, at most {MOST_TEMPLATE_BYTES} are allowed", text.len());
        findings.error(spot, message);
        return;
    }
    if let Some(tag) = OTHER_FILES.captures(text).and_then(|found| found.get(1)) {
        findings.error(spot, format!("the prompt `{path}` uses `{}`, but a prompt is one file", tag.as_str()));
        return;
    }
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    let template = match environment.template_from_str(text) {
        Ok(template) => template,
        Err(error) => {
            let line = error.line().map_or_else(String::new, |line| format!(", line {line}"));
            let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
            findings.error(spot, format!("the prompt `{path}`{line} does not compile: {detail}"));
            return;
        }
    };
    let used = template.undeclared_variables(false);
    let names = || VARIABLES.iter().map(|(name, _)| *name);
    let mut unknown: Vec<&str> =
        used.iter().map(String::as_str).filter(|name| !names().chain(FUNCTIONS).any(|known| known == *name)).collect();
    unknown.sort_unstable();
    let are_known = unknown.is_empty();
    for name in unknown {
        findings.error(spot, format!("the prompt `{path}` uses the unknown variable `{name}`"));
        findings.help(suggest::known_names(name, names()));
    }
    if let Some((line, what)) = are_known.then(|| fault_of_names(&environment, &template, text)).flatten() {
        findings.error(spot, format!("the prompt `{path}`, line {line}: {what}"));
        findings.help(
            "facts have `name`, `value` and `tell`, parts of the goal `id`, `text`, `status` and `blocked`, tools `name` and \
             `description`, the state `say` and `mood`; filters and tests are those of minijinja",
        );
    }
    if !used.contains("reply_form") {
        findings.error(spot, format!("the prompt `{path}` lacks `{{{{ reply_form }}}}`"));
        findings.help("without it, the model does not know how to reply and how to end the talk");
    }
    if !used.contains("objective") && !used.contains("goal") {
        findings.error(spot, format!("the prompt `{path}` uses neither `objective` nor `goal`"));
        findings.help("the user must know what it wants");
    }
}
