//! skUnit scenarios in Markdown, `*.skunit.md`: from the file to its scenarios.

mod assertion;
mod call;
mod chat;
mod checks;
mod invocation;
mod json;
mod markdown;
mod page;
mod sections;
mod settings;
mod speech;
mod statement;
mod structured;
mod values;

use scenario::{
    Environment, Format, Scenario, Source, Strategy,
    format::{Files, Script, stem},
    user::Pauses,
};
use serde_json::Value;
use yaml::{Diagnostic, Document, Findings, Spot, schema};

use self::{
    page::{Item, Page},
    settings::{Expect, SkunitDocument},
    statement::Keyword,
    values::Values,
};

/// The largest file, in bytes. It is plain text, so a small file cannot overwhelm a parser.
const MAX_BYTES: usize = 16 << 20;
/// The default time limit of an answer.
const TIMEOUT_MS: u64 = 90_000;

pub const FORMAT: &dyn Format = &Skunit;

#[derive(Debug)]
struct Skunit;

impl Format for Skunit {
    fn name(&self) -> &'static str {
        "skunit"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".skunit.md"]
    }

    fn loose_endings(&self) -> &'static [&'static str] {
        &[".md"]
    }

    /// Pages named as skUnit's own samples are, and pages with its headings.
    fn recognizes(&self, name: &str, text: &mut dyn FnMut() -> Option<String>) -> bool {
        let is_sample = name == "skchat.md" || name == "sktest.md";
        is_sample || (name.ends_with(".md") && text().is_some_and(|text| sections::is_skunit(&text)))
    }

    fn max_bytes(&self) -> usize {
        MAX_BYTES
    }

    fn open_beside(&self, text: &str, path: &str, _files: &mut dyn Files) -> (Vec<Document>, Vec<Diagnostic>) {
        sections::open(text, path, stem(path, self))
    }

    fn translate(&self, document: &Document) -> (Option<Script>, Vec<Diagnostic>) {
        let mut findings = Findings::new(&document.path);
        let script = script(document, &mut findings);
        let script = if findings.has_errors() { None } else { script };
        (script, findings.into_sorted())
    }

    fn schema(&self) -> Value {
        schema::of::<SkunitDocument>()
    }
}

fn script(document: &Document, findings: &mut Findings) -> Option<Script> {
    let root = document.root();
    let written = settings::read(&root, findings);
    let required_pass_rate = required(&written, root.spot_of("required_success_runs"), findings);
    let page = Page::read(&written.text, written.line);
    let values = Values::new(&written.parameters);
    page.survey(findings);
    values.survey(&page.source, findings);
    let heading = heading(&page, findings);
    let timeout_ms = written.timeout_ms.map_or(TIMEOUT_MS, |timeout| timeout.0);
    let is_chat = page.has(Keyword::is_role);
    let steps = if is_chat {
        chat::read(&page, &values, timeout_ms, findings)
    } else if page.has(Keyword::is_of_invocation) {
        invocation::read(&page, &values, timeout_ms, findings)
    } else {
        let at = page.items.first().map_or(Spot::at(written.line, 0), |item| item.at);
        findings.error(at, "the page contains no scenario: it has no speaker and no question");
        findings.help("expected a heading such as `## [USER]` and `## [AGENT]`, or `## ANSWER`");
        return None;
    };
    if is_chat && !page.preamble.is_empty() {
        let at = page.source.spot(page.preamble[0].range.start);
        findings.warning(at, "the text before the first statement is ignored");
        findings.help("below `# SCENARIO`, this text is the scenario's description");
    }
    let title = heading.map(|item| values.fill(item.statement.rest)).filter(|title| !title.is_empty());
    let description = heading.filter(|_| is_chat).map(|item| values.fill(&item.text(&page.source)));
    let scenario = Scenario {
        name: title.unwrap_or(written.name),
        description: description.unwrap_or_default(),
        format: FORMAT.name().to_owned(),
        source: Source {
            path: document.path.clone(),
            line: page.items.first().map_or(written.line, |item| item.at.line),
        },
        tags: written.tags,
        weight: written.weight.map_or(1.0, |weight| weight.0),
        required_pass_rate,
        plugins: Vec::new(),
        environment: Environment::default(),
        mocks: Vec::new(),
        opening: Vec::new(),
        steps,
        strategy: Strategy::AllPass,
        required_score: None,
        history: written.history,
        on_failure: written.on_failure,
        expect_failure: written.expect == Expect::Fail,
        pauses: Pauses::default(),
        vars: serde_json::Map::new(),
    };
    Some(Script { scenario, personas: Vec::new(), repeats: written.repeats.map(|repeats| repeats.0) })
}

/// The heading `# SCENARIO`, which must be the first and the only one.
fn heading<'a, 'b>(page: &'b Page<'a>, findings: &mut Findings) -> Option<&'b Item<'a>> {
    let is_scenario = |item: &&Item<'_>| item.statement.keyword == Keyword::Scenario;
    let first = page.items.iter().find(is_scenario)?;
    for (item, position) in page.items.iter().zip(0..).filter(|(item, _)| is_scenario(item)) {
        if position > 0 {
            findings.error(item.at, "`SCENARIO` is in the middle of a scenario");
            findings.help("put a line of five dashes before it; if it is part of a text, add an identifier to the statements (`# x SCENARIO`, `## x [USER]`)");
        }
    }
    Some(first)
}

/// The share of rounds that must pass: k of n runs, however many are played.
fn required(written: &SkunitDocument, at: Spot, findings: &mut Findings) -> Option<f64> {
    let Some(required) = &written.required_success_runs else {
        return written.required_pass_rate.map(|share| share.0);
    };
    let runs = written.repeats.map_or(1, |repeats| repeats.0);
    if required.0 > runs {
        findings.error(at, format!("{} of {runs} rounds cannot pass", required.0));
        findings.help("`repeats` is the number of rounds");
    }
    if written.required_pass_rate.is_some() {
        findings.error(at, "`required_success_runs` and `required_pass_rate` are alternatives: write one of them");
    }
    Some(f64::from(required.0) / f64::from(runs))
}
