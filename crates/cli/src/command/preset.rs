//! `gabfest preset`: the settings of agents behind well-known servers.

use agent::http::presets::Preset;

use crate::{exit::Exit, stdout};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The preset to print as settings; without it, all presets are listed
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(Preset::all().map(Preset::name)))]
    name: Option<String>,
}

pub(crate) fn print(args: &Args) -> anyhow::Result<Exit> {
    match args.name.as_deref().and_then(Preset::named) {
        Some(preset) => stdout::line(&preset.page())?,
        None => {
            for preset in Preset::all() {
                stdout::line(&format!("{:15} {}", preset.name(), preset.about()))?;
            }
        }
    }
    Ok(Exit::Held)
}
