//! Names that scenarios use and `gabfest.yaml` must define: checks, state hosts, databases, hooks and the judges of panels.

use std::collections::BTreeSet;

use scenario::{Action, Diagnostic, Reading, Rule, Scenario};
use yaml::{Document, Findings, Part, Spot, suggest};

use crate::{judges, settings::Settings};

/// A section of `gabfest.yaml`, and how a scenario names an entry of it.
struct Section<'a> {
    name: &'static str,
    what: &'static str,
    /// The key of the scenario that holds the name.
    key: &'static str,
    defined: Vec<&'a str>,
}

/// One error for each name of each file that the settings do not define.
pub(crate) fn faults(reading: &Reading, settings: &Settings) -> Vec<Diagnostic> {
    fn names<T>(section: &std::collections::BTreeMap<String, T>) -> Vec<&str> {
        section.keys().map(String::as_str).collect()
    }
    let sections = [
        Section { name: "checks", what: "check", key: "check", defined: names(&settings.checks) },
        Section { name: "state_hosts", what: "state host", key: "host", defined: names(&settings.state_hosts) },
        Section { name: "databases", what: "database", key: "database", defined: names(&settings.databases) },
        Section { name: "hooks", what: "hook", key: "hook", defined: names(&settings.hooks) },
        Section { name: "models", what: "model type", key: "panel", defined: names(&settings.models) },
    ];
    let [checks, hosts, databases, hooks, models] = &sections;
    // The mock model votes for every model type, so that scenarios can be tried without settings.
    let has_judges = !judges::is_mock(settings, settings.roles.judge.as_deref());
    let mut faults = Vec::new();
    for file in &reading.scenarios {
        let scenario = &file.script.scenario;
        let of_checks = scenario.checks().filter_map(|check| match &check.rule {
            Rule::Custom(rule) => Some((checks, rule.check.as_str(), check.line)),
            Rule::HttpState(rule) => Some((hosts, rule.host.as_str(), check.line)),
            Rule::SqlState(rule) => Some((databases, rule.database.as_str(), check.line)),
            _ => None,
        });
        let of_panels = scenario.checks().filter(|_| has_judges).flat_map(|check| {
            // The default judge votes for an unknown type: one judge would count as several.
            check.judging.panel.iter().map(move |judge| (models, judge.as_str(), check.line))
        });
        let all = of_checks.chain(of_panels).chain(hooks_of(scenario).map(|(name, line)| (hooks, name, line)));
        let unknown = all.filter(|(section, name, _)| !section.defined.contains(name));
        let mut seen = BTreeSet::new();
        let mut document = None;
        for (section, name, line) in unknown {
            if seen.insert((section.name, name)) {
                faults.extend(section.fault(document.get_or_insert_with(|| file.first()), name, line));
            }
        }
    }
    faults
}

/// Why a model type that an option names cannot be asked, with a hint.
pub(crate) fn fault_of_model_type(option: &str, name: &str, settings: &Settings) -> Option<String> {
    if settings.models.contains_key(name) {
        return None;
    }
    let hint = if settings.models.is_empty() {
        format!("write `models: {{ {name}: ENDPOINT }}` in gabfest.yaml, or name the file with --config")
    } else {
        suggest::known_names(name, settings.models.keys().map(String::as_str))
    };
    Some(format!("`{option} {name}` names a model type that `models` of gabfest.yaml does not define\nhint: {hint}"))
}

/// The hooks of a scenario, each with the line of its step.
fn hooks_of(scenario: &Scenario) -> impl Iterator<Item = (&str, u32)> {
    let stops = scenario.steps.iter().filter_map(|step| match &step.action {
        Action::Converse(conversation) => Some(conversation.stops.iter().map(|stop| (stop, step.line))),
        _ => None,
    });
    stops.flatten().filter_map(|(stop, line)| Some((stop.hook.as_deref()?, line)))
}

impl Section<'_> {
    fn fault(&self, document: &Document, name: &str, line: u32) -> Vec<Diagnostic> {
        let Self { name: section, what, key, defined } = self;
        let mut findings = Findings::of(document);
        let spot = place(&document.root(), key, name).unwrap_or(Spot::at(line, 0));
        findings
            .error(spot, format!("`{key}: {name}` names a {what} that `{section}` of gabfest.yaml does not define"));
        findings.help(if defined.is_empty() {
            format!("write `{section}: {{ {name}: … }}` in gabfest.yaml, or name the file with --config")
        } else {
            suggest::known_names(name, defined.iter().copied())
        });
        findings.into_sorted()
    }
}

/// Where a key has this text as its value, or in its list.
pub(crate) fn place(part: &Part<'_>, key: &str, name: &str) -> Option<Spot> {
    let found = part.get(key).map(|found| [found.clone()].into_iter().chain(found.items()).collect::<Vec<_>>());
    let own = found.into_iter().flatten().find(|found| found.value().as_str() == Some(name)).map(|found| found.spot());
    let inner = || part.entries().into_iter().map(|(_, entry)| entry).chain(part.items());
    own.or_else(|| inner().find_map(|inner| place(&inner, key, name)))
}
