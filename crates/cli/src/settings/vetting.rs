//! What is wrong with the settings beyond their shape: addresses, headers, commands, figures, and names that nothing
//! defines. Every command that reads the settings vets them here, before it does anything.

use worker::{environment::database, tool_server::ToolAddress};
use yaml::{Document, Findings, Part};

use super::{MOCK, Settings};
use crate::args::SLOTS;

const MOST_PASS_K: u32 = statistics::flakiness::MOST_REPEATS as u32;

pub(super) fn vet(settings: &Settings, document: &Document, findings: &mut Findings) {
    let mut vetting = Vetting { root: document.root(), findings };
    vetting.sections(settings);
    vetting.names(settings);
    vetting.figures(settings);
}

struct Vetting<'a> {
    root: Part<'a>,
    findings: &'a mut Findings,
}

impl Vetting<'_> {
    /// The faults that each section finds in itself.
    fn sections(&mut self, settings: &Settings) {
        for (name, endpoint) in &settings.endpoints {
            self.fault(&["endpoints", name], endpoint.fault());
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
        if let Err(error) = ToolAddress::new(None, settings.tool_server.url.as_deref()) {
            self.error(&["tool_server", "url"], &format!("cannot be used: {error}"));
        }
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
        let gates = &settings.gates;
        for (key, share) in [
            ("pass_rate", gates.pass_rate),
            ("case_pass_rate", gates.case_pass_rate),
            ("max_unjudged", Some(gates.max_unjudged)),
            ("max_simulator_faults", gates.max_simulator_faults),
        ] {
            if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
                self.error(&["gates", key], &format!("is {share}, and must be from 0 to 1"));
            }
        }
        if let Some(kappa) = gates.judges.map(|judges| judges.min_kappa).filter(|kappa| !(-1.0..=1.0).contains(kappa)) {
            self.error(&["gates", "judges", "min_kappa"], &format!("is {kappa}, and must be from -1 to 1"));
        }
        if gates.case_pass_rate.is_some() && gates.pass_rate.is_none() {
            let reason = "has no gates.pass_rate beside it, so every trial of every case must pass\nhint: write `pass_rate` too, or `required_pass_rate` in the scenario";
            self.error(&["gates", "case_pass_rate"], reason);
        }
        if let Some(k) = settings.pass_k.filter(|k| !(1..=MOST_PASS_K).contains(k)) {
            self.error(&["pass_k"], &format!("is {k}, and must be from 1 to {MOST_PASS_K}"));
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

    /// An error at the key; at the nearest part that is written, if the key is not. What follows `hint:` is its help.
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
