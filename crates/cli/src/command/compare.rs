//! `gabfest compare`: what changed between two runs, and whether the success rate is worse.

use clap::ValueEnum;
use statistics::compare::{self, found::CompareVerdict};

use crate::{compared, exit::Exit, history_file::Place, nights, screen::screen, sentinels, stdout};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run to compare with: its folder, or its id
    #[arg(value_name = "BASE")]
    base: String,
    /// The run that is compared: its folder, or its id
    #[arg(value_name = "NEW")]
    new: String,
    /// By how many percentage points the success rate may fall
    #[arg(long, value_name = "POINTS", default_value = "3pp", value_parser = compared::margin)]
    margin: f64,
    /// Print this form
    #[arg(short, long, value_enum, default_value_t = Page::Text)]
    format: Page,
    /// Print every figure as JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Page {
    /// As on a terminal
    Text,
    /// A comment on a pull request
    Markdown,
    /// One page for a browser
    Html,
}

pub(crate) async fn compare(args: &Args) -> anyhow::Result<Exit> {
    args.place.refuse_missing()?;
    let (base, new) = (compared::read(&args.base)?, compared::read(&args.new)?);
    let mut found = compare::compare(&base, &new, args.margin);
    found.nights = nights::between(&args.place, &base, &new, &found).await;
    let folders = (compared::folder(&args.base)?, compared::folder(&args.new)?);
    found.sentinels = sentinels::between((&folders.0, &base.run.id), (&folders.1, &new.run.id));
    match args.format {
        _ if args.json => stdout::document(&report::compare::json(&found))?,
        Page::Text => stdout::painted(&report::compare::terminal(&found, screen()))?,
        Page::Markdown => stdout::document(&report::compare::markdown(&found))?,
        Page::Html => stdout::document(&report::compare::html(&found)?)?,
    }
    Ok(match found.verdict {
        CompareVerdict::Better | CompareVerdict::NotWorse => Exit::Held,
        CompareVerdict::Worse => Exit::GateFailed,
        CompareVerdict::CannotTell => Exit::NotEnoughEvidence,
    })
}
