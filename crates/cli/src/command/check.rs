//! `gabfest check`: read files and print what is wrong with them.

use std::path::PathBuf;

use anyhow::anyhow;
use record::count::plural;
use scenario::{Diagnostic, Plan, ScenarioFile, plan::Choices};
use yaml::diagnostic::Severity;

use crate::{
    args::{Config, CoverFlag},
    budget, diagnostics,
    exit::{Exit, usage},
    load, panels, plan, quarantine, references,
    settings::{self, Read},
    stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Scenario, matrix and persona files, or folders of them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    cover: CoverFlag,
    #[command(flatten)]
    config: Config,
}

pub(crate) fn check(args: &Args) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, args.strict)?;
    if read.settings.max_cost.is_some() {
        let agents: Vec<String> = read.settings.agents.keys().cloned().collect();
        budget::check(&agents, &read)?;
    }
    let reading = plan::read_files(&args.paths, &read);
    let mut found = reading.diagnostics.clone();
    found.extend(references::faults(&reading, &read.settings));
    found.extend(panels::faults(&reading, &read.settings));
    // Files that are valid alone may not fit together: an undefined persona, a matrix with too many cases.
    if !found.iter().any(Diagnostic::is_error) && !reading.scenarios.is_empty() {
        let choices = Choices { cover: args.cover.strength(read.settings.cover), ..Choices::default() };
        match scenario::plan::build(&reading, &choices) {
            Err(faults) => found.extend(faults),
            Ok(plan) if quarantine::are_folders(&args.paths) && choices.cover.is_none() => {
                found.extend(quarantine::unknown(&read, &plan, &reading));
                found.extend(unknown_names(&read, &plan));
            }
            Ok(_) => {}
        }
    }
    found.extend(reading.scenarios.iter().filter(|file| !file.script.scenario.judges_something()).map(unjudged));
    if args.strict {
        yaml::diagnostic::strict(&mut found);
    }
    diagnostics::print(&found);
    if found.iter().any(Diagnostic::is_error) {
        return Err(usage(anyhow!("{}", diagnostics::count(&found))));
    }
    stdout::line(&format!(
        "{}, {} and {} are fine ({})",
        plural(reading.scenarios.len() as u64, "scenario", "scenarios"),
        plural(reading.matrices.len() as u64, "matrix", "matrices"),
        plural(reading.personas.names().count() as u64, "persona", "personas"),
        diagnostics::count(&found)
    ))?;
    Ok(Exit::Held)
}

/// Warnings about names in paces: they may be those of other scenarios. Which cases a pace plays also depends on the agents and
/// personas of the run.
fn unknown_names(read: &Read, plan: &Plan) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for pace in read.settings.load.keys() {
        found.extend(load::misfits::unknown_names(pace, read, plan));
    }
    found.into_iter().map(|unknown| Diagnostic { severity: Severity::Warning, ..unknown }).collect()
}

fn unjudged(file: &ScenarioFile) -> Diagnostic {
    let scenario = &file.script.scenario;
    let message = format!("the scenario `{}` has no check: nothing will be judged", scenario.name);
    Diagnostic::warning(scenario.source.path.clone(), scenario.source.line, 0, message)
        .with_help("without a check every trial ends INCONCLUSIVE; say what the agent's replies must satisfy")
}
