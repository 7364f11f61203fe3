//! `gabfest store migrate`: which steps a schema lacks, and taking them.

use std::path::Path;

use anyhow::Context as _;
use store::{Engine, Held as _, Postgres, Schema, Sqlite};

use crate::{
    command::store_files,
    exit::{Exit, usage},
    observed, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `postgres://…`, or the file of a store, or its folder
    #[arg(value_name = "URL|PATH")]
    store: String,
    /// Print which migrations the schema lacks, and apply none
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn migrate(args: &Args) -> anyhow::Result<Exit> {
    let address = args.store.as_str();
    if Engine::is_postgres(address) {
        let schema = Postgres::schema(address).await.map_err(usage)?;
        tell(&schema, args.dry_run)?;
        if !args.dry_run && !schema.pending.is_empty() {
            // Takes the store over, so that no coordinator writes meanwhile.
            let store = Postgres::open(address, &observed::instance()).await.context("failed to migrate the store")?;
            store.hand_over().await?;
        }
        return Ok(Exit::Held);
    }
    let path = store_files::path(Path::new(address))?;
    let schema = Sqlite::schema(&path).await.map_err(usage)?;
    tell(&schema, args.dry_run)?;
    if !args.dry_run && !schema.pending.is_empty() {
        store_files::open(&path).await?.close().await?;
    }
    Ok(Exit::Held)
}

fn tell(schema: &Schema, dry_run: bool) -> anyhow::Result<()> {
    if schema.pending.is_empty() {
        return stdout::line("the store has this version's schema");
    }
    for step in &schema.pending {
        let taken = if dry_run { "lacks" } else { "takes" };
        stdout::line(&format!("{taken} {} {}", step.version, step.name))?;
    }
    Ok(())
}
