//! Opens the coordinator's store: a file, or the database that it may share with other coordinators.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use store::{Candidate, Engine, Error, Sqlite};

use crate::exit::usage;

/// The store, and where it keeps the runs, without credentials.
pub(super) enum Opened {
    File(Box<Engine>, String),
    /// Another coordinator may hold it.
    Database(Candidate, String),
}

impl Opened {
    pub(super) fn place(&self) -> &str {
        let (Self::File(_, place) | Self::Database(_, place)) = self;
        place
    }
}

pub(super) async fn open(data: &Path, address: Option<&str>) -> anyhow::Result<Opened> {
    let Some(address) = address else {
        std::fs::create_dir_all(data).with_context(|| format!("failed to make the folder {}", data.display()))?;
        return match Sqlite::open(&data.join("gabfest.db")).await {
            Ok(store) => Ok(Opened::File(Box::new(Engine::Sqlite(Box::new(store))), data.display().to_string())),
            Err(error @ Error::InUse(_)) => Err(usage(anyhow!(
                "{error}\nhint: stop the coordinator that has it open, or choose another folder with --data"
            ))),
            Err(error) => Err(error).context("failed to open the store"),
        };
    };
    if !Engine::is_postgres(address) {
        return Err(usage(anyhow!(
            "--store does not name a PostgreSQL database\nhint: its address begins with postgres:// or postgresql://; --data names a folder for SQLite"
        )));
    }
    let place = place(address);
    let connected = Candidate::connect(address).await;
    let candidate = connected.with_context(|| format!("failed to open the store in {place}"))?;
    Ok(Opened::Database(candidate, place))
}

/// Host and database; an address may hold a password.
fn place(address: &str) -> String {
    let rest = address.split_once("://").map_or("", |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    format!("PostgreSQL at {}", rest.split('?').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_has_no_credentials() {
        for (address, shown) in [
            ("postgres://user:canary@db.example:5432/gabfest?sslmode=require", "PostgreSQL at db.example:5432/gabfest"),
            ("postgresql://db/gabfest?password=canary", "PostgreSQL at db/gabfest"),
            ("postgres://user:can@ary@db/gabfest", "PostgreSQL at db/gabfest"),
        ] {
            assert_eq!(place(address), shown);
        }
    }
}
