//! A selection of files in, a plan out: reading, findings, `--dry-run`.

use std::path::PathBuf;

use anyhow::anyhow;
use scenario::{
    Plan, Reading,
    plan::{Choices, Gates, MAX_TRIALS},
};

use crate::{
    addresses, args::Selection, calibration, compiled, decide, diagnostics, exit::usage, load, objectives, panels,
    quarantine, references, settings, settings::Read, variables,
};

/// Who plays a plan, and so whose settings define what its scenarios name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Player {
    /// This process, with the settings that it reads.
    ThisProcess,
    /// Workers, with their own settings.
    Workers,
}

/// Reads the selection and plans it. Prints findings; errors among them end it. `slots`: those of a load
/// without a pace.
pub(crate) fn build(selection: &Selection, read: &Read, player: Player, slots: u32) -> anyhow::Result<Plan> {
    if selection.paths.is_empty() {
        return Err(usage(anyhow!(
            "no scenario is named\nhint: name scenario files, or folders that contain some, such as `scenarios/`"
        )));
    }
    let reading = read_files(&selection.paths, read);
    let mut found = reading.diagnostics.clone();
    if player == Player::ThisProcess {
        found.extend(references::faults(&reading, &read.settings));
        found.extend(panels::faults(&reading, &read.settings));
    }
    let mut set = selection.set.iter().map(|text| assignment(text)).collect::<anyhow::Result<Vec<_>>>()?;
    set.extend(selection.compat.iter().map(|revision| ("compat".to_owned(), revision.clone().into())));
    let agents =
        if selection.agents.is_empty() { vec![read.settings.default_agent()] } else { selection.agents.clone() };
    check_agents(&agents, read)?;
    let settings::Gates { pass_rate, case_pass_rate, max_unjudged, max_unjudged_cases, .. } = read.settings.gates;
    let settings::Gates { max_simulator_faults, max_flaky_cases, .. } = read.settings.gates;
    let judges = calibration::gate(read)?;
    let goodput = read.settings.goodput.limits();
    let load = load::chosen(&selection.load, read, slots)?;
    let choices = Choices {
        name: selection.name.clone().unwrap_or_else(|| name_of(&selection.paths)),
        seed: selection.seed,
        repeats: selection.repeats,
        personas: selection.personas.clone(),
        set,
        agents,
        live: selection.live,
        plays_on: selection.no_preflight,
        replays: read.settings.replays.unwrap_or_else(scenario::plan::usual_replays),
        gates: Gates {
            pass_rate,
            case_pass_rate,
            success_rates: read.settings.gates.success_rate.gates(),
            max_flaky_cases,
            max_unjudged,
            max_unjudged_cases,
            max_simulator_faults,
            judges,
            objectives: objectives::chosen(&read.settings.objectives, &selection.objectives, &goodput)?,
            quarantine: quarantine::today(read),
        },
        pass_k: read.settings.pass_k,
        goodput: Some(goodput),
        transcripts: selection.transcripts.unwrap_or(read.settings.transcripts),
        filter: selection.filter.clone(),
        tags: selection.tags.clone(),
        exclude_tags: selection.exclude_tags.clone(),
        conditions: selection
            .conditions
            .iter()
            .map(|text| condition("--where", text))
            .collect::<anyhow::Result<_>>()?,
        exclude: selection.exclude.iter().map(|text| cell(text)).collect::<anyhow::Result<_>>()?,
        cover: selection.cover.strength(read.settings.cover),
        max_trials: selection.max_trials,
        think_time: selection.load.think_time,
        decide: decide::chosen(selection, read, load.is_some())?,
        load,
    };
    if selection.strict {
        yaml::diagnostic::strict(&mut found);
    }
    if found.iter().any(scenario::Diagnostic::is_error) {
        diagnostics::print(&found);
        return Err(usage(anyhow!("nothing was played: {}", diagnostics::count(&found))));
    }
    match scenario::plan::build(&reading, &choices) {
        Ok(mut plan) => {
            plan.endpoints = read.settings.digests();
            let tags: Vec<String> = choices.tags.iter().chain(&choices.exclude_tags).cloned().collect();
            found.extend(scenario::plan::unknown_tags(&reading, &tags));
            found.extend(scenario::objective::faults(&plan));
            if player == Player::ThisProcess {
                found.extend(variables::faults(&plan, &read.settings));
            }
            // An array that covers pairs lacks cases too.
            if quarantine::plays_all(selection) && choices.cover.is_none() {
                found.extend(quarantine::unknown(read, &plan, &reading));
            }
            if selection.strict {
                yaml::diagnostic::strict(&mut found);
            }
            diagnostics::print(&found);
            if found.iter().any(scenario::Diagnostic::is_error) {
                return Err(usage(anyhow!("nothing was played: {}", diagnostics::count(&found))));
            }
            for file in reading.scenarios.iter().filter(|file| !file.plays_alone()) {
                diagnostics::note(&format!(
                    "{} is played through its matrix; name the file to play it by itself too",
                    file.document.path
                ));
            }
            if let Some(prospect) = decide::prospect(&plan)? {
                diagnostics::note(&prospect);
            }
            Ok(plan)
        }
        Err(errors) => {
            found.extend(placed_in_load(&reading, choices, selection, read).unwrap_or(errors));
            diagnostics::print(&found);
            Err(usage(anyhow!("nothing was played: {}", diagnostics::count(&found))))
        }
    }
}

/// The faults of the chosen pace, at their places in the settings; `None`: the pace fits the scenarios.
fn placed_in_load(
    reading: &Reading,
    choices: Choices,
    selection: &Selection,
    read: &Read,
) -> Option<Vec<scenario::Diagnostic>> {
    let pace = selection.load.pace.as_ref()?;
    let plan = scenario::plan::build(reading, &Choices { load: None, max_trials: MAX_TRIALS, ..choices }).ok()?;
    Some(load::misfits::of_pace(pace, read, &plan)).filter(|misfits| !misfits.is_empty())
}

/// Reads files and folders, their personas, and the settings' persona library.
pub(crate) fn read_files(paths: &[PathBuf], read: &Read) -> Reading {
    let beside = paths.iter().flat_map(|path| path.ancestors().skip(1).take(2)).map(|folder| folder.join("personas"));
    let beside = beside.filter(|folder| folder.is_dir());
    let library = read.settings.personas.iter().map(|path| read.folder.join(path));
    let all: Vec<PathBuf> = paths.iter().cloned().chain(beside).chain(library).collect();
    let mut reading = formats::read(&all);
    let faults = compiled::faults(&reading);
    reading.diagnostics.extend(faults);
    reading
}

/// Prints what would be played, with its estimate.
pub(crate) fn dry_run(plan: &Plan, read: &Read, slots: u32, budget: Option<record::Usd>) -> anyhow::Result<()> {
    crate::stdout::write(&crate::estimate::text(plan, &read.settings, slots, budget))
}

fn check_agents(agents: &[String], read: &Read) -> anyhow::Result<()> {
    for name in agents {
        addresses::check(name)?;
        let known = is_address(name) || name == crate::settings::MOCK || read.settings.agents.contains_key(name);
        if !known && read.settings.endpoints.contains_key(name) {
            return Err(usage(anyhow!(
                "{name:?} is an endpoint and no agent\nhint: write `agents: {{ {name}: {{ endpoint: {name} }} }}` in the settings"
            )));
        }
        if !known {
            let mut all: Vec<&str> = read.settings.agents.keys().map(String::as_str).collect();
            all.push(crate::settings::MOCK);
            return Err(usage(anyhow!(
                "there is no agent {name:?}\nhint: the settings define {}; an address begins with http:// or https://",
                all.join(", ")
            )));
        }
    }
    Ok(())
}

pub(crate) fn is_address(name: &str) -> bool {
    name.starts_with("http://") || name.starts_with("https://")
}

/// `PATH=VALUE`; the value is JSON if it can be parsed, otherwise text.
fn assignment(text: &str) -> anyhow::Result<(String, serde_json::Value)> {
    let (path, value) = text
        .split_once('=')
        .ok_or_else(|| usage(anyhow!("--set takes PATH=VALUE, and got {text:?}\nhint: --set 'run[0].input=Hello'")))?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| serde_json::Value::from(value));
    Ok((path.trim().to_owned(), value))
}

/// `NAME=VALUE` of a case.
fn condition(flag: &str, text: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| usage(anyhow!("{flag} takes NAME=VALUE, and got {text:?}\nhint: {flag} locale=de")))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// `NAME=VALUE,NAME=VALUE`; a comma that no assignment follows belongs to the value.
fn cell(text: &str) -> anyhow::Result<Vec<(String, String)>> {
    let mut pieces: Vec<String> = Vec::new();
    for piece in text.split(',') {
        match pieces.last_mut().filter(|_| !piece.contains('=')) {
            Some(last) => {
                last.push(',');
                last.push_str(piece);
            }
            None => pieces.push(piece.to_owned()),
        }
    }
    pieces.iter().map(|piece| condition("--exclude", piece)).collect()
}

fn name_of(paths: &[PathBuf]) -> String {
    let first = paths.first().map(|path| path.display().to_string()).unwrap_or_default();
    match paths.len() {
        0 | 1 => first,
        more => format!("{first} and {} more", more - 1),
    }
}
