//! Opens the coordinator's store: a file, or a database that another coordinator may hold.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use store::{Engine, Error, Postgres, Sqlite, Store as _};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{exit::usage, observed, stdout};

/// How often a standby tries to take over, and the coordinator looks whether it was replaced.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

pub(super) struct Opened {
    pub(super) engine: Engine,
    /// Where it keeps the runs, without credentials.
    pub(super) place: String,
}

/// A database that another coordinator holds is waited for.
pub(super) async fn open(data: &Path, address: Option<&str>) -> anyhow::Result<Opened> {
    let Some(address) = address else {
        std::fs::create_dir_all(data).with_context(|| format!("failed to make {}", data.display()))?;
        return match Sqlite::open(&data.join("gabfest.db")).await {
            Ok(store) => Ok(Opened { engine: Engine::Sqlite(Box::new(store)), place: data.display().to_string() }),
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
    let holder = observed::instance();
    let mut waiting = false;
    loop {
        match Postgres::open(address, &holder).await {
            Ok(store) => return Ok(Opened { engine: Engine::Postgres(store), place }),
            Err(error @ Error::InUse(_)) => {
                if !waiting {
                    stdout::line(&format!("standby for {place}: {error}"))?;
                    waiting = true;
                }
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
            Err(error) => return Err(error).with_context(|| format!("failed to open the store in {place}")),
        }
    }
}

/// Drains the coordinator when another one has taken the store over; that is an error, so that a supervisor starts this one
/// again, as a standby. Ends without one when the coordinator drains for another reason.
pub(super) fn replaced(store: Arc<Engine>, drain: CancellationToken) -> JoinHandle<anyhow::Result<()>> {
    tokio::spawn(async move {
        // A folder that is gone is reported by the runs that cannot be kept.
        if matches!(*store, Engine::Sqlite(_)) {
            return Ok(());
        }
        loop {
            tokio::select! {
                () = drain.cancelled() => return Ok(()),
                () = tokio::time::sleep(BETWEEN_LOOKS) => {}
            }
            if let Err(error @ Error::Gone(_)) = store.check().await {
                drain.cancel();
                return Err(error).context("the coordinator stops");
            }
        }
    })
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
