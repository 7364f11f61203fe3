//! `gabfest ping`: ask each agent and model once, and print what comes back.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    time::Duration,
};

use anyhow::anyhow;
use record::{FailureKind, call::Spend};
use tokio::time::Instant;

use crate::{
    args::{AllowExec, Capacity, Config, whole},
    assemble,
    exit::{Exit, usage},
    measured, plan,
    probe::{Asked, Fault, Heard, ask_agent, ask_endpoint},
    settings::{self, MOCK, Settings},
    stdout, variables,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Agents and endpoints of the settings, or addresses of OpenAI-compatible servers (all that the settings define)
    #[arg(value_name = "NAME|URL")]
    names: Vec<String>,
    #[command(flatten)]
    config: Config,
    /// Allow agents that are programs (`host`)
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "sandbox")]
    allow_exec: Option<AllowExec>,
    /// Give up waiting for an answer after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = whole::<u64>(1..=3_600))]
    timeout: u64,
}

pub(crate) async fn ping(args: &Args) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, false)?;
    let addresses: Vec<String> = args.names.iter().filter(|name| plan::is_address(name)).cloned().collect();
    let capacity = Capacity { allow_exec: args.allow_exec, ..Capacity::default() };
    let resources = assemble::resources(&read, &addresses, &capacity, None).await?;
    let patience = Duration::from_secs(args.timeout);
    let (agents, endpoints) = chosen(&args.names, &read.settings)?;
    let mut exit = Exit::Held;
    let mut seconds = BTreeMap::new();
    for name in &agents {
        let began = Instant::now();
        let asked = ask_agent(name, &resources, variables::empty(name, &read.settings), patience).await;
        let endpoint = read.settings.agents.get(name).and_then(|agent| agent.endpoint.as_deref());
        let cut_by =
            cut_by(began.elapsed() >= patience, endpoint.map_or(("agents", name.as_str()), |name| ("endpoints", name)));
        exit = show(&asked, &cut_by, exit, &mut seconds)?;
    }
    for name in &endpoints {
        let began = Instant::now();
        let asked = match assemble::endpoint(&read.settings, name)? {
            Ok(endpoint) => ask_endpoint(name, &endpoint, &read.settings, patience).await,
            Err(absent) => Asked {
                what: "endpoint",
                name: name.clone(),
                outcome: Err(Fault {
                    exit: Exit::Usage,
                    kind: FailureKind::Misconfigured,
                    message: format!("it has no key: {}", absent.reason()),
                    hints: vec!["put the key there".to_owned()],
                }),
                spend: Spend::default(),
            },
        };
        exit = show(&asked, &cut_by(began.elapsed() >= patience, ("endpoints", name)), exit, &mut seconds)?;
    }
    measured::keep(&seconds);
    Ok(exit)
}

/// What ended the wait for an answer: the flag, or the time limit in the settings.
fn cut_by(out_of_patience: bool, (section, name): (&str, &str)) -> String {
    if out_of_patience { "--timeout".to_owned() } else { format!("`timeout_ms` of `{section}.{name}`") }
}

/// Prints one, and gives the worst of the exit codes. `cut_by`: what to raise if there was no answer in time.
fn show(asked: &Asked, cut_by: &str, exit: Exit, seconds: &mut BTreeMap<String, f64>) -> anyhow::Result<Exit> {
    stdout::write(&text(asked, cut_by))?;
    match &asked.outcome {
        Ok(heard) => {
            seconds.insert(asked.name.clone(), heard.took.as_secs_f64());
            Ok(exit)
        }
        Err(fault) if exit == Exit::Usage || fault.exit == Exit::Usage => Ok(Exit::Usage),
        Err(fault) => Ok(fault.exit),
    }
}

fn text(asked: &Asked, cut_by: &str) -> String {
    let Asked { what, name, outcome, .. } = asked;
    let mut text = format!("{what:<8}  {name:<20}  ");
    match outcome {
        Ok(Heard { took, tokens, words, allowed }) => {
            let tokens = tokens.map_or_else(String::new, |(input, output)| format!("  {input}+{output} tokens"));
            let _ = writeln!(text, "ok  {:.0} ms{tokens}  {words}", took.as_secs_f64() * 1e3);
            let limits = [
                (allowed.requests, "requests"),
                (allowed.tokens, "tokens"),
                (allowed.input_tokens, "tokens of uncached input"),
                (allowed.output_tokens, "tokens of output"),
            ];
            let limits = limits.into_iter().filter_map(|(limit, what)| Some(format!("{} {what}", limit?)));
            let limits = limits.collect::<Vec<_>>().join(", ");
            if !limits.is_empty() {
                let _ = writeln!(text, "          the server allows {limits} in a minute");
            }
        }
        Err(Fault { message, kind: FailureKind::AgentTimeout, .. }) => {
            let _ = writeln!(text, "failed  {message}");
            let _ = writeln!(text, "          hint: raise {cut_by}, or find out why the server does not answer");
        }
        Err(Fault { message, hints, .. }) => {
            let _ = writeln!(text, "failed  {message}");
            for hint in hints {
                let _ = writeln!(text, "          hint: {hint}");
            }
        }
    }
    redact::redact(&text).into_owned()
}

/// The agents and the endpoints of these names; of no names, all that the settings define, or the mock.
fn chosen(names: &[String], settings: &Settings) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    if names.is_empty() {
        // An endpoint that only agents use is asked through them.
        let through: BTreeSet<&String> = settings.agents.values().filter_map(|agent| agent.endpoint.as_ref()).collect();
        let own = [&settings.roles.user_sim, &settings.roles.judge].into_iter().flatten();
        let own: BTreeSet<&String> = own.chain(settings.models.values()).collect();
        let endpoints = settings.endpoints.keys().filter(|name| own.contains(name) || !through.contains(name));
        let agents: Vec<String> = settings.agents.keys().cloned().collect();
        let endpoints: Vec<String> = endpoints.cloned().collect();
        let nothing = agents.is_empty() && endpoints.is_empty();
        return Ok((if nothing { vec![MOCK.to_owned()] } else { agents }, endpoints));
    }
    let (mut agents, mut endpoints) = (Vec::new(), Vec::new());
    for name in names {
        if settings.agents.contains_key(name) || plan::is_address(name) {
            agents.push(name.clone());
        } else if settings.endpoints.contains_key(name) {
            endpoints.push(name.clone());
        } else if name == MOCK {
            agents.push(name.clone());
        } else {
            let known: Vec<&str> =
                settings.agents.keys().chain(settings.endpoints.keys()).map(String::as_str).collect();
            let hint = match known.as_slice() {
                [] => "the settings define none; an address begins with http:// or https://".to_owned(),
                known => yaml::suggest::known_names(name, known.iter().copied()),
            };
            return Err(usage(anyhow!("there is no agent or endpoint {name:?}\nhint: {hint}")));
        }
    }
    Ok((agents, endpoints))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_names_what_ended_the_wait() {
        let message = "shop did not answer within 3000 ms".to_owned();
        let fault =
            Fault { exit: Exit::NotEnoughEvidence, kind: FailureKind::AgentTimeout, message, hints: Vec::new() };
        let asked = Asked { what: "agent", name: "shop".to_owned(), outcome: Err(fault), spend: Spend::default() };
        for (out_of_patience, hint) in
            [(true, "raise --timeout, or"), (false, "raise `timeout_ms` of `agents.shop`, or")]
        {
            let text = text(&asked, &cut_by(out_of_patience, ("agents", "shop")));
            assert!(text.contains(hint), "{text}");
        }
    }
}
