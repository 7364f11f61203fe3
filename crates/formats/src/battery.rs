//! Quality batteries, `*.battery.yaml`: from the document to the scenario.

mod data;
mod document;
mod python;
mod requirements;
pub mod saved;
mod shipped;
mod tester;

use scenario::{
    Action, Battery, Environment, Format, History, Message, OnFailure, Scenario, Source, Step, Strategy,
    battery::{self, Compat, Saved, Tester},
    format::{Files, Script},
    message::Speaker,
    user::Pauses,
};
use serde_json::{Value, json};
use yaml::{
    Diagnostic, Document, Findings, Part,
    path::{Path, Segment},
    schema,
};

use self::document::BatteryDocument;

pub use shipped::shipped;

/// The default length of a conversation.
const LENGTH: u32 = 10;
/// The default number of runs.
const RUNS: u32 = 1;

pub const FORMAT: &dyn Format = &BatteryFormat;

#[derive(Debug)]
struct BatteryFormat;

impl Format for BatteryFormat {
    fn name(&self) -> &'static str {
        "battery"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".battery.yaml", ".battery.yml"]
    }

    /// A conversation that is judged again.
    fn put_files_in(&self, document: &mut Document, files: &mut dyn Files, findings: &mut Findings) {
        let root = document.root();
        let Some(part) = root.get("conversation") else { return };
        let Value::String(name) = part.value() else { return };
        match files.text(&document.path, name) {
            Ok(text) => {
                let value = json!({ "path": name, "text": text });
                let path = Path(vec![Segment::Key("conversation".to_owned())]);
                path.set(&mut document.value, value).expect("the key was just found");
            }
            Err(fault) => findings.error(part.spot(), format!("the conversation `{name}` {fault}")),
        }
    }

    /// The tester, if it is an agent.
    fn agents<'a>(&self, document: &'a Value) -> Option<&'a str> {
        document.get("tester")?.get("agent")?.as_str()
    }

    fn translate(&self, document: &Document) -> (Option<Script>, Vec<Diagnostic>) {
        let mut findings = Findings::new(&document.path);
        let script = script(document, &mut findings);
        let script = if findings.has_errors() { None } else { script };
        (script, findings.into_sorted())
    }

    fn schema(&self) -> Value {
        schema::of::<BatteryDocument>()
    }
}

/// Reads every section even if others have faults, so that one reading finds all faults of a file.
fn script(document: &Document, findings: &mut Findings) -> Option<Script> {
    let root = document.root();
    let written = root.decode::<BatteryDocument>(findings);
    let saved = root.get("conversation").and_then(|part| conversation(&part, findings));
    let tester = root.get("tester").map(|part| tester::read(&part, findings));
    let entries = requirements::read(root.get("requirements").as_ref(), findings);
    let compat = written.as_ref().and_then(|written| written.compat);
    let sets = match root.get("data") {
        Some(part) => data::data_sets(&part.items(), findings),
        None => shipped(compat.is_some()),
    };
    let written = written?;
    if saved.is_none() && root.get("conversation").is_some() {
        return None;
    }
    let tester = match tester {
        Some(tester) => tester?,
        None if saved.is_some() => Tester::Lines(Vec::new()),
        None => {
            findings.error(root.spot(), "the battery has no `tester`");
            findings
                .help("write `tester: {lines: [Hey, …]}`, `tester: {model: {persona: …}}` or `tester: {agent: NAME}`");
            return None;
        }
    };
    let length = match (&saved, &tester, &written.conversation_length) {
        (Some(saved), ..) => u32::try_from(saved.exchanges.len()).unwrap_or(u32::MAX),
        (None, _, Some(length)) => length.0,
        (None, Tester::Lines(lines), None) => u32::try_from(lines.len()).unwrap_or(u32::MAX).min(battery::MAX_LENGTH),
        (None, _, None) => LENGTH,
    };
    let examined = Battery {
        length,
        turn_timeout_ms: written.timeout_per_turn_ms.0,
        tester,
        tester_memory: written.memory.tester.0,
        agent_memory: written.memory.agent.map(|messages| messages.0),
        random_start: written.random_start,
        injections: entries.injections,
        observed: entries.observed,
        required: entries.required,
        thresholds: written.thresholds.into_thresholds(),
        sets,
        replacement: written.replacement.unwrap_or(match compat {
            // The service that the old revision used returns synonyms.
            Some(Compat::Emely9043c93) => battery::Replacement::Synonyms,
            None => battery::Replacement::Words,
        }),
        augmentation: written.augmentation.into_augmentation(),
        shown: written.show.into_shown(),
        compat,
        saved,
    };
    requirements::check(&examined, &root, findings);
    let opening = root.items_of("opening");
    let lines = opening.iter().filter_map(|line| line.value().as_str());
    // The tester and the chatter alternate, and the tester is next.
    let first = opening.len() % 2;
    let opening = lines.enumerate().map(|(index, text)| {
        let speaker = if index % 2 == first { Speaker::User } else { Speaker::Agent };
        Message::text_of(speaker, text)
    });
    let scenario = Scenario {
        name: written.name.0,
        description: written.description,
        format: FORMAT.name().to_owned(),
        source: Source { path: document.path.clone(), line: 1 },
        tags: written.tags,
        weight: written.weight.map_or(1.0, |weight| weight.0),
        required_pass_rate: written.required_pass_rate.map(|share| share.0),
        plugins: Vec::new(),
        environment: Environment::default(),
        mocks: Vec::new(),
        opening: opening.collect(),
        steps: vec![Step { name: None, action: Action::Examine(Box::new(examined)), checks: Vec::new(), line: 1 }],
        strategy: Strategy::AllPass,
        required_score: None,
        history: History::Actual,
        on_failure: OnFailure::Continue,
        expect_failure: written.expect_failure,
        pauses: Pauses::default(),
        vars: serde_json::Map::new(),
    };
    let runs = written.runs.map_or(RUNS, |runs| runs.0);
    Some(Script { scenario, personas: written.personas, repeats: Some(runs) })
}

/// A conversation in Emely's format. Its text is here already: workers see no files of the user.
fn conversation(part: &Part<'_>, findings: &mut Findings) -> Option<Saved> {
    if let Value::String(name) = part.value() {
        findings.error(part.spot(), format!("the conversation `{name}` was not read together with the battery"));
        findings.help("name the file in the battery itself, or write `{path: NAME, text: WORDS}`");
        return None;
    }
    let written = part.decode::<document::SavedText>(findings)?;
    match saved::parse(&written.text) {
        Ok(saved) if saved.exchanges.is_empty() => {
            findings.error(part.spot(), format!("`{}` contains no exchange", written.path));
            None
        }
        Ok(saved) => Some(saved),
        Err((line, message)) => {
            findings.error(part.spot(), format!("`{}` line {line}: {message}", written.path));
            None
        }
    }
}
