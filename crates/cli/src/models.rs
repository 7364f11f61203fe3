//! `gabfest models`: which models are kept on this machine, and getting one.

use std::{env, fmt::Write as _, path::PathBuf};

use anyhow::{Context as _, anyhow};
use embed::{
    Shelf,
    catalogue::{KNOWN, known},
    fetch::{Error, Source, fetch},
};

use crate::{
    args::{FetchModel, Models, ModelsCommand},
    exit::{Exit, usage},
    settings, stdout,
};

/// Where models are kept if the environment says nothing else.
const BELOW_CACHE: &str = "gabfest/models";

pub(crate) async fn models(args: Models) -> anyhow::Result<Exit> {
    match args.command {
        ModelsCommand::List => list(),
        ModelsCommand::Fetch(args) => get(args).await,
    }
}

/// `GABFEST_MODELS`, else a folder of the user's cache.
pub(crate) fn shelf() -> anyhow::Result<Shelf> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("GABFEST_MODELS")
        .or_else(|| Some(named("XDG_CACHE_HOME")?.join(BELOW_CACHE)))
        .or_else(|| Some(named("HOME")?.join(".cache").join(BELOW_CACHE)))
        .map(Shelf::new)
        .ok_or_else(|| usage(anyhow!("nobody says where models are kept\nhint: set GABFEST_MODELS to a folder")))
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

async fn get(args: FetchModel) -> anyhow::Result<Exit> {
    let source = match (&args.from, known(&args.name)) {
        (Some(written), _) => Source::parse(written),
        (None, Some(model)) => {
            let read = settings::read(&args.config, false)?;
            Source::of(model, read.settings.scores.hub.as_deref())
        }
        (None, None) => Err(Error::Unknown { name: args.name.clone() }),
    };
    let source = source.map_err(|error| {
        let hint = "hint: say --from with an address, an archive or a folder that has config.json, tokenizer.json and model.safetensors";
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
