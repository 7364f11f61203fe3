//! `gabfest store`: brings the store of a coordinator to this version's schema, and looks for faults in it.

mod check;
mod migrate;

use crate::exit::Exit;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Bring a store to this version's schema
    Migrate(migrate::Args),
    /// Look for faults in a store: exits with 0 if it is sound, with 1 if it is not, with 2 or 3 if it cannot be read
    Check(check::Args),
}

pub(crate) async fn store(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Migrate(args) => migrate::migrate(&args).await,
        Command::Check(args) => check::check(&args).await,
    }
}
