//! `gabfest prices`: write the price table that `price: auto` reads.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use llm::prices::Table;

use crate::{
    clock,
    exit::{Exit, usage},
    stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write a price table from litellm's list of prices
    Update(UpdateArgs),
}

#[derive(Debug, clap::Args)]
struct UpdateArgs {
    /// litellm's `model_prices_and_context_window.json`
    #[arg(value_name = "FILE")]
    list: PathBuf,
    /// Write the table to this file
    #[arg(short, long, value_name = "FILE", default_value = "prices.json")]
    out: PathBuf,
}

pub(crate) fn prices(args: &Args) -> anyhow::Result<Exit> {
    let Command::Update(UpdateArgs { list, out }) = &args.command;
    let text = std::fs::read_to_string(list).with_context(|| format!("failed to read {}", list.display()));
    let source = list.file_name().unwrap_or_default().to_string_lossy();
    let table = Table::of_litellm(&text.map_err(usage)?, &clock::today(), &source)
        .map_err(|error| usage(anyhow!("failed to read {}: {error}", list.display())))?;
    std::fs::write(out, table.to_json()).with_context(|| format!("failed to write {}", out.display()))?;
    let (models, out) = (table.models.len(), out.display());
    stdout::write(&format!("{models} models in {out}\nname it in gabfest.yaml: `prices: {out}`\n"))?;
    Ok(Exit::Held)
}
