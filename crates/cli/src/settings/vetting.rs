//! Checks the settings beyond their shape: addresses, headers, commands, figures, and undefined names. Every command
//! that reads the settings runs these checks first.

use std::path::Path;

use chrono::NaiveDate;
use scenario::plan::MOST_COVERED;
use serde_json::Value;
use worker::{environment::database, tool_server::ToolAddress};
use yaml::{Document, Findings, Part};

use super::{Goodput, MOCK, Settings, decide, rates::SuccessRates};
use crate::{args::SLOTS, clock, compared, dollars, load::resolve, run_labels};

/// Of `YYYY-MM-DD`.
const DAY_LENGTH: usize = 10;
const MOST_PASS_K: u32 = statistics::flakiness::MOST_REPEATS as u32;

/// Files that the settings name are relative to `folder`.
pub(super) fn vet(settings: &Settings, folder: &Path, document: &Document, findings: &mut Findings) {
    let mut vetting = Vetting { root: document.root(), findings };
    vetting.sections(settings);
    vetting.names(settings);
    vetting.figures(settings);
    vetting.labels(settings);
    vetting.quarantine(settings);
    vetting.load(settings, folder);
    vetting.objectives(settings);
}

/// The path below a pace to `stages` or `groups` without an item. Once read, they look as if they were not written.
fn empty_in_pace(pace: &Part<'_>) -> Option<Vec<String>> {
    let is_empty = |part: Part<'_>| match part.value() {
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    let empty = |part: &Part<'_>| ["stages", "groups"].into_iter().find(|key| part.get(key).is_some_and(is_empty));
    if let Some(key) = empty(pace) {
        return Some(vec![key.to_owned()]);
    }
    let groups = pace.get("groups")?;
    groups.value().as_object()?.keys().find_map(|name| {
        let key = groups.get(name).as_ref().and_then(empty)?;
        Some(vec!["groups".to_owned(), name.clone(), key.to_owned()])
    })
}

/// An error at the key, or at its nearest written parent. The text after `hint:` is its help.
pub(crate) fn error(document: &Document, findings: &mut Findings, path: &[&str], reason: &str) {
    Vetting { root: document.root(), findings }.error(path, reason);
}

struct Vetting<'a> {
    root: Part<'a>,
    findings: &'a mut Findings,
}

impl Vetting<'_> {
    /// The faults that each section finds in itself.
    fn sections(&mut self, settings: &Settings) {
        for (name, endpoint) in &settings.endpoints {
            let fault = endpoint.fault().or_else(|| self.idle_mock(name, endpoint));
            self.fault(&["endpoints", name], fault);
            if let Some(fault) = endpoint.mock.fault() {
                // It begins with the key.
                let (key, reason) = fault.split_once(' ').unwrap_or(("mock", &fault));
                let path: Vec<&str> = ["endpoints", name, "mock"].into_iter().chain(key.split('.')).collect();
                self.error(&path, reason);
            }
        }
        for (name, agent) in &settings.agents {
            if let Some((key, reason)) = agent.fault() {
                let path: Vec<&str> = ["agents", name].into_iter().chain(key.split('.')).collect();
                self.error(&path, &reason);
            }
        }
        for (name, check) in &settings.checks {
            self.fault(&["checks", name], check.fault());
        }
        for (name, host) in &settings.state_hosts {
            self.fault(&["state_hosts", name], host.fault());
        }
        for (name, hook) in &settings.hooks {
            self.fault(&["hooks", name], hook.fault());
        }
        for (name, written) in &settings.databases {
            self.fault(&["databases", name], database::fault(&written.url).map(|reason| ("url", reason)));
        }
        self.fault(&["decide"], settings.decide.as_ref().and_then(decide::Settings::fault));
        if let Err(error) = ToolAddress::new(None, settings.tool_server.url.as_deref()) {
            self.error(&["tool_server", "url"], &format!("cannot be used: {error}"));
        }
    }

    /// `mock: {}` of a server, which says nothing that its settings could keep.
    fn idle_mock(&self, name: &str, endpoint: &llm::endpoint::Settings) -> Option<(&'static str, String)> {
        let written = self.root.get("endpoints")?.get(name)?.get("mock").is_some();
        (written && endpoint.kind != llm::endpoint::Kind::Mock)
            .then(|| ("mock", llm::endpoint::Settings::NO_MOCK.to_owned()))
    }

    /// That every name that is used is defined.
    fn names(&mut self, settings: &Settings) {
        let endpoints: Vec<&str> = settings.endpoints.keys().map(String::as_str).chain([MOCK]).collect();
        let agents: Vec<&str> = settings.agents.keys().map(String::as_str).chain([MOCK]).collect();
        if let Some(name) = &settings.roles.agent {
            if settings.endpoints.contains_key(name) && !agents.contains(&name.as_str()) {
                let reason = format!(
                    "names {name:?}, which is an endpoint and no agent\nhint: write `agents: {{ {name}: {{ endpoint: {name} }} }}`"
                );
                self.error(&["roles", "agent"], &reason);
            } else {
                self.known(&["roles", "agent"], name, &agents);
            }
        }
        for (role, name) in [("user_sim", &settings.roles.user_sim), ("judge", &settings.roles.judge)] {
            if let Some(name) = name {
                self.known(&["roles", role], name, &endpoints);
            }
        }
        for (model_type, name) in &settings.models {
            self.known(&["models", model_type], name, &endpoints);
        }
        match settings.scores.endpoints() {
            Ok(named) => {
                for (measure, name) in named {
                    self.known(&["scores", measure, "endpoint"], name, &endpoints);
                }
            }
            Err((key, reason)) => self.error(&["scores", key], &reason),
        }
        for (name, agent) in &settings.agents {
            match &agent.endpoint {
                Some(endpoint) => self.known(&["agents", name, "endpoint"], endpoint, &endpoints),
                None if agent.needs_endpoint() => self.error(
                    &["agents", name, "endpoint"],
                    "is missing\nhint: write `endpoint: NAME` with a name of `endpoints`, or a section such as `http`",
                ),
                None => {}
            }
        }
    }

    fn figures(&mut self, settings: &Settings) {
        if let Some(slots) = settings.slots.filter(|slots| !SLOTS.contains(slots)) {
            self.error(&["slots"], &format!("is {slots}, and must be from {} to {}", SLOTS.start(), SLOTS.end()));
        }
        if let Some(reason) = settings.max_cost.and_then(dollars::fault) {
            self.error(&["max_cost"], &format!("cannot be used: {reason}"));
        }
        let gates = &settings.gates;
        for (key, share) in [
            ("pass_rate", gates.pass_rate),
            ("case_pass_rate", gates.case_pass_rate),
            ("max_unjudged", Some(gates.max_unjudged)),
            ("max_simulator_faults", gates.max_simulator_faults),
            ("max_flaky_cases", gates.max_flaky_cases),
        ] {
            if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
                self.error(&["gates", key], &format!("is {share}, and must be from 0 to 1"));
            }
        }
        let Goodput { response_ms, ttft_ms, per_output_token_ms } = settings.goodput;
        for (key, millis) in
            [("response_ms", response_ms), ("ttft_ms", ttft_ms), ("per_output_token_ms", per_output_token_ms)]
        {
            if let Some(millis) = millis.filter(|millis| !(0.001..=86_400_000.0).contains(millis)) {
                self.error(&["goodput", key], &format!("is {millis}, and must be from 0.001 to 86400000 (a day)"));
            }
        }
        if let Some(kappa) = gates.judges.map(|judges| judges.min_kappa).filter(|kappa| !(-1.0..=1.0).contains(kappa)) {
            self.error(&["gates", "judges", "min_kappa"], &format!("is {kappa}, and must be from -1 to 1"));
        }
        if let Some(regression) = &gates.regression {
            if let Err(reason) = compared::margin(&regression.margin) {
                self.error(&["gates", "regression", "margin"], &format!("is {:?}, and {reason}", regression.margin));
            }
            if regression.baseline.trim().is_empty() {
                let reason = "is empty\nhint: write `last-green`, `last`, or a run's folder or id";
                self.error(&["gates", "regression", "baseline"], reason);
            }
        }
        self.success_rates(&gates.success_rate);
        if gates.case_pass_rate.is_some() && gates.pass_rate.is_none() && gates.success_rate.is_empty() {
            let reason = "has no gates.pass_rate beside it, so every trial of every case must pass\nhint: write `pass_rate` too, or `required_pass_rate` in the scenario";
            self.error(&["gates", "case_pass_rate"], reason);
        }
        if let Some(k) = settings.pass_k.filter(|k| !(1..=MOST_PASS_K).contains(k)) {
            self.error(&["pass_k"], &format!("is {k}, and must be from 1 to {MOST_PASS_K}"));
        }
        if let Some(strength) = settings.cover.filter(|strength| !(1..=MOST_COVERED).contains(strength)) {
            self.error(&["cover"], &format!("is {strength}, and must be from 1 to {MOST_COVERED}"));
        }
        self.fault(&["history"], settings.history.fault());
    }

    fn success_rates(&mut self, rates: &SuccessRates) {
        let Some(gates) = self.root.get("gates") else { return };
        let items = gates.items_of("success_rate");
        for (place, key, reason) in rates.faults() {
            let item = items.get(place).cloned();
            let name = if item.is_some() && !key.is_empty() { format!("[{place}]") } else { String::new() };
            let part = item.or_else(|| gates.get("success_rate"));
            let is_written = part.as_ref().is_some_and(|part| part.get(key).is_some());
            let spot =
                part.as_ref().map_or(gates.spot(), |part| if is_written { part.key_spot(key) } else { part.spot() });
            let key = if is_written { format!(".{key}") } else { String::new() };
            let (reason, hint) = reason.split_once("\nhint: ").unwrap_or((&reason, ""));
            self.findings.error(spot, format!("gates.success_rate{name}{key} {reason}"));
            if !hint.is_empty() {
                self.findings.help(hint);
            }
        }
    }

    fn labels(&mut self, settings: &Settings) {
        for (name, value) in &settings.labels {
            if let Some(fault) = run_labels::fault(name, value) {
                self.error(&["labels", name], &format!("cannot be used: {fault}"));
            }
        }
    }

    /// An entry that expired is a warning on every command, and its case counts again.
    fn quarantine(&mut self, settings: &Settings) {
        let written = self.root.items_of("quarantine");
        let today = clock::today();
        for (index, entry) in settings.quarantine.iter().enumerate() {
            let spot = |key: &str| written.get(index).map_or(self.root.spot(), |part| part.spot_of(key));
            for (key, text) in [("case", &entry.case), ("owner", &entry.owner), ("reason", &entry.reason)] {
                if text.trim().is_empty() {
                    self.findings.error(spot(key), format!("quarantine[{index}].{key} is missing"));
                }
            }
            if NaiveDate::parse_from_str(&entry.expires, "%Y-%m-%d").is_err() || entry.expires.len() != DAY_LENGTH {
                let found = &entry.expires;
                self.findings
                    .error(spot("expires"), format!("quarantine[{index}].expires is {found:?}, and must be a day"));
                self.findings.help("write the last day of the entry, such as 2026-12-24");
            } else if entry.is_expired(&today) {
                let (case, owner, day) = (&entry.case, &entry.owner, &entry.expires);
                let message =
                    format!("quarantine[{index}] of {case:?} expired on {day}: its gates count again (owner: {owner})");
                self.findings.warning(spot("expires"), message);
                self.findings.help("mend the case and remove the entry, or write a later day");
            }
        }
    }

    fn load(&mut self, settings: &Settings, folder: &Path) {
        for (name, pace) in &settings.load {
            let written = self.root.get("load").and_then(|load| load.get(name));
            if let Some(path) = written.as_ref().and_then(empty_in_pace) {
                let path: Vec<&str> = ["load", name].into_iter().chain(path.iter().map(String::as_str)).collect();
                self.error(&path, "is empty\nhint: write at least one item, or leave the key out");
            } else if let Err(fault) = resolve::choice(name, pace, folder) {
                let mut path = vec!["load", name];
                let mut part = written;
                for key in &fault.key {
                    let found = |name: &str| part.as_ref().is_some_and(|part| part.get(name).is_some());
                    // The fault is at the key in the file, under either name.
                    let key = resolve::other_names(key).find(|other| found(other)).unwrap_or(key.as_str());
                    path.push(key);
                    part = part.and_then(|part| part.get(key));
                }
                self.error(&path, &fault.reason);
            }
        }
    }

    fn objectives(&mut self, settings: &Settings) {
        let written = self.root.items_of("objectives");
        let limits = settings.goodput.limits();
        for (index, objective) in settings.objectives.iter().enumerate() {
            if let Err(reason) = objective.read(&limits) {
                let spot = written.get(index).map_or(self.root.spot(), |part| part.spot_of("objective"));
                let (reason, hint) = reason.split_once("\nhint: ").unwrap_or((reason.as_str(), ""));
                self.findings.error(spot, format!("objectives[{index}] {reason}"));
                if !hint.is_empty() {
                    self.findings.help(hint);
                }
            }
        }
        if settings.objectives.len() > scenario::objective::MOST {
            let most = scenario::objective::MOST;
            self.error(&["objectives"], &format!("has {} items, and may have {most}", settings.objectives.len()));
        }
    }

    fn known(&mut self, path: &[&str], name: &str, all: &[&str]) {
        if !all.contains(&name) {
            let reason = format!("names {name:?}, which is not defined\nhint: defined are {}", all.join(", "));
            self.error(path, &reason);
        }
    }

    fn fault(&mut self, section: &[&str], fault: Option<(&'static str, String)>) {
        if let Some((key, reason)) = fault {
            let path: Vec<&str> = section.iter().copied().chain([key]).collect();
            self.error(&path, &reason);
        }
    }

    /// An error at the key, or at its nearest written parent. The text after `hint:` is its help.
    fn error(&mut self, path: &[&str], reason: &str) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut part = self.root.clone();
        let mut is_written = true;
        for key in parents {
            match part.get(key) {
                Some(found) => part = found,
                None => is_written = false,
            }
        }
        let spot = if is_written { part.key_spot(last) } else { part.spot() };
        let (reason, hint) = reason.split_once("\nhint: ").unwrap_or((reason, ""));
        self.findings.error(spot, format!("{} {reason}", path.join(".")));
        if !hint.is_empty() {
            self.findings.help(hint);
        }
    }
}
