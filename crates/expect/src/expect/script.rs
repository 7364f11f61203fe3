//! The script to play: the document of an expected conversation, read like any other scenario.

use std::path::{Path, PathBuf};

use formats::line;
use scenario::{Diagnostic, Plan, Reading, Rule, Scenario, ScenarioFile, plan::Choices};
use serde_json::Value;
use yaml::{Document, diagnostic};

/// A playable conversation, or the findings that prevent it.
#[derive(Debug)]
pub(super) struct Prepared {
    reading: Reading,
}

impl Prepared {
    pub(super) fn of_file(path: &Path) -> Result<Self, String> {
        let reading = formats::read(&[PathBuf::from(path)]);
        if let Some(other) = reading.scenarios.iter().find(|file| file.format.name() != line::FORMAT.name()) {
            return Err(format!(
                "{} is read as a scenario of the format {}\nhint: an expected conversation is named \
                 *.conversation.yaml or *.conversation.json; `gabfest run` plays all formats",
                path.display(),
                other.format.name()
            ));
        }
        Self::checked(reading)
    }

    pub(super) fn read(document: &Document) -> Result<Self, String> {
        let (file, diagnostics) = formats::scenario_file(line::FORMAT, document.clone());
        Self::checked(Reading { scenarios: file.into_iter().collect(), diagnostics, ..Reading::default() })
    }

    /// Warnings are errors here, because a passing test does not show them.
    fn checked(mut reading: Reading) -> Result<Self, String> {
        diagnostic::strict(&mut reading.diagnostics);
        match (reading.diagnostics.is_empty(), reading.scenarios.len()) {
            (true, 1) => Ok(Self { reading }),
            (true, number) => Err(format!("one conversation can be played, and there are {number}")),
            (false, _) => Err(listed(&reading.diagnostics)),
        }
    }

    pub(super) fn plan(&self, agent: &str, repeats: Option<u32>, seed: u64) -> Result<Plan, String> {
        let (name, agents) = (self.scenario().name.clone(), vec![agent.to_owned()]);
        let choices = Choices { name, agents, repeats, seed, ..Choices::default() };
        scenario::plan::build(&self.reading, &choices).map_err(|findings| listed(&findings))
    }

    pub(super) fn scenario(&self) -> &Scenario {
        &self.file().script.scenario
    }

    /// Unless the test says otherwise.
    pub(super) fn repeats(&self) -> u32 {
        self.file().script.repeats.unwrap_or(1)
    }

    /// As written.
    pub(super) fn value(&self) -> &Value {
        &self.file().document.value
    }

    /// Whether some turn can pass only with a judge.
    pub(super) fn cannot_do_without_a_judge(&self) -> bool {
        self.scenario().checks().any(|check| matches!(check.rule, Rule::SemanticCondition(_)))
    }

    fn file(&self) -> &ScenarioFile {
        self.reading.scenarios.first().expect("a script holds one conversation")
    }
}

/// One finding a line, with its hint.
pub(super) fn listed(findings: &[Diagnostic]) -> String {
    let line = |finding: &Diagnostic| match &finding.help {
        Some(help) => format!("{finding}\n  hint: {help}"),
        None => finding.to_string(),
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}
