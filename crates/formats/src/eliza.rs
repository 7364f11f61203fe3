//! ElizaOS scenarios, `*.scenario.yaml`: from the document to the scenario.

mod conversation;
mod document;
mod files;
mod ours;
mod policy;
mod said;
mod setup;
mod sql;
mod step;
mod write;

use scenario::{
    Environment, Format, Scenario, Source,
    format::{Files, Script},
};
use serde_json::Value;
use yaml::{
    Diagnostic, Document, Findings,
    path::{Path, Segment},
    schema,
};

use self::document::ScenarioDocument;
use crate::{
    include,
    simulated_user::{check_tools, key, put_prompts_in},
};

pub use write::{Unwritable, write, write_matrix};

pub const FORMAT: &dyn Format = &Eliza;

#[derive(Debug)]
struct Eliza;

impl Format for Eliza {
    fn name(&self) -> &'static str {
        "eliza"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".scenario.yaml", ".scenario.yml"]
    }

    fn loose_endings(&self) -> &'static [&'static str] {
        &[".yaml", ".yml"]
    }

    fn put_files_in(&self, document: &mut Document, files: &mut dyn Files, findings: &mut Findings) {
        include::put_in(document, files, findings, put_texts_in);
        let users: Vec<Path> = (0..document.root().items_of("run").len())
            .map(|step| Path(vec![key("run"), Segment::Index(step), key("conversation"), key("user_simulator")]))
            .collect();
        put_prompts_in(document, &users, files, findings);
    }

    fn has_placeholders(&self) -> bool {
        true
    }

    fn translate(&self, document: &Document) -> (Option<Script>, Vec<Diagnostic>) {
        let mut findings = Findings::of(document);
        let script = script(document, &mut findings);
        let script = if findings.has_errors() { None } else { script };
        (script, findings.into_sorted())
    }

    fn schema(&self) -> Value {
        schema::of::<ScenarioDocument>()
    }
}

/// Of the files whose paths are relative to this one, not to the scenario that includes it.
fn put_texts_in(document: &mut Document, files: &mut dyn Files, findings: &mut Findings) {
    sql::put_in(document, files, findings);
    policy::put_in(document, files, findings);
}

/// Reads every section even if others have faults, so that one reading finds all faults of a file.
fn script(document: &Document, findings: &mut Findings) -> Option<Script> {
    let root = document.root();
    let written = root.decode::<ScenarioDocument>(findings);
    if let Some(kind) = root.get("environment").and_then(|it| it.get("type")).filter(|kind| kind.value() == "e2b") {
        findings.warning(kind.spot(), "the environment `e2b` has no effect: gabfest plays the scenario as `local`");
        findings.help("write `type: local`; `--allow-exec` runs the programs of scenarios in a sandbox");
    }
    let plugins = setup::plugins(&root.items_of("plugins"), findings);
    let has_state = root.get("gabfest").is_some_and(|ours| ours.get("state").is_some());
    let mocks =
        root.get("setup").map_or_else(Vec::new, |setup| setup::mocks(&setup.items_of("mocks"), has_state, findings));
    let files = root.get("setup").and_then(|setup| setup.get("virtual_fs")).map(|part| files::read(&part, findings));
    let steps = step::read_all(&root.items_of("run"), findings);
    root.items_of("run").iter().for_each(|step| check_tools(step, &mocks, findings));
    root.items_of("run").iter().for_each(|step| setup::check_mock_states(step, has_state, &mocks, findings));
    let ours = ours::read(root.get("gabfest").as_ref(), findings)?;
    let written = written?;
    let scenario = Scenario {
        name: written.name,
        description: written.description,
        format: FORMAT.name().to_owned(),
        source: Source { path: document.path.clone(), line: 1 },
        tags: ours.tags,
        weight: ours.weight,
        required_pass_rate: ours.required_pass_rate,
        plugins,
        environment: Environment { files: files.unwrap_or_default(), databases: ours.databases, state: ours.state },
        mocks,
        opening: ours.opening,
        steps,
        strategy: written.judgment.strategy,
        history: ours.history,
        on_failure: ours.on_failure,
        expect_failure: ours.expect_failure,
        pauses: ours.pauses,
        required_score: ours.required_score,
        vars: ours.vars,
    };
    Some(Script { scenario, personas: ours.personas, repeats: ours.repeats })
}
