//! `gabfest trends`: the runs of the history over nights, on the terminal or as a page with charts.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::{exit::Exit, nights, screen::screen, stdout};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: nights::Which,
    /// Write a page with charts to this file
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    out: Option<PathBuf>,
    /// Print every figure as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn trends(args: Args) -> anyhow::Result<Exit> {
    let trends = nights::read(&args.which).await?;
    match args.out {
        _ if args.json => stdout::document(&report::trends::json(&trends))?,
        Some(out) => {
            std::fs::write(&out, report::trends::html(&trends)?)
                .with_context(|| format!("failed to write {}", out.display()))?;
            stdout::line(&format!("trends {}", out.display()))?;
        }
        None => stdout::painted(&report::trends::terminal(&trends, screen()))?,
    }
    Ok(Exit::Held)
}
