//! The certificates of a coordinator, which it reads again when they change.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use pki::Authority;

use crate::{clock, exit::usage};

/// In the folder of the runs.
const USUAL: &str = "pki";
/// Between two looks at the files.
const PERIOD: Duration = Duration::from_secs(2);
/// A warning comes once in so many looks, and begins so long before the end.
const LOOKS_BETWEEN_WARNINGS: u64 = 1_800;
const SOON_SECONDS: i64 = 14 * 24 * 3_600;

/// `None`: there are no certificates, and none were asked for.
pub(super) fn authority(named: Option<&Path>, data: &Path) -> anyhow::Result<Option<Arc<Authority>>> {
    let usual = data.join(USUAL);
    let place = named.unwrap_or(&usual);
    if !Authority::is_in(place) {
        return match named {
            None => Ok(None),
            Some(place) => Err(usage(anyhow!(
                "there are no certificates in {}\nhint: `gabfest pki init --pki {} NAME…` makes them",
                place.display(),
                place.display()
            ))),
        };
    }
    let opened =
        Authority::open(place).with_context(|| format!("failed to read the certificates in {}", place.display()));
    Ok(Some(Arc::new(opened.map_err(usage)?)))
}

/// Reads the files again whenever they change. New connections use them; those that are open stay.
pub(super) async fn follow(authority: Arc<Authority>) {
    let mut looks = 0;
    loop {
        if looks % LOOKS_BETWEEN_WARNINGS == 0 {
            warn_of_end(authority.served().expires_at);
        }
        looks += 1;
        tokio::time::sleep(PERIOD).await;
        match authority.reload() {
            Ok(false) => {}
            Ok(true) => tracing::info!("the certificates were read again"),
            // Files that are replaced one after the other fit together a moment later.
            Err(error) => tracing::warn!(%error, "the changed certificates cannot be used; those before them stay"),
        }
    }
}

fn warn_of_end(expires_at: i64) {
    let left = expires_at - clock::now_millis() / 1_000;
    if left < SOON_SECONDS {
        let hours = left / 3_600;
        tracing::warn!(hours, "the certificate of the coordinator expires soon; `gabfest pki renew` makes another");
    }
}
