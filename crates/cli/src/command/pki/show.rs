//! What is in a folder, for people.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use chrono::DateTime;
use pki::{Authority, Credentials, Served};

use crate::{clock, exit::usage, stdout};

pub(super) fn show(place: &Path) -> anyhow::Result<()> {
    let text = if Authority::is_in(place) {
        let authority = Authority::open(place).context("failed to read the certificates").map_err(usage)?;
        of_authority(place, &authority.served())
    } else if Credentials::is_in(place) {
        of_credentials(place, &Credentials::load(place).context("failed to read the identity").map_err(usage)?)
    } else {
        return Err(usage(anyhow!(
            "there are no certificates in {}\nhint: `gabfest pki init` makes a CA, `gabfest pki join` an identity",
            place.display()
        )));
    };
    stdout::write(&text)?;
    Ok(())
}

pub(super) fn of_authority(place: &Path, served: &Served) -> String {
    let signs = if served.signs { "" } else { " (its key is not here: no certificates are issued)" };
    let trusted = match served.authorities {
        0 | 1 => String::new(),
        more => format!("trusted CAs   {more}\n"),
    };
    format!(
        "folder        {}\nnames         {}\nexpires       {}\nCA            sha256:{}{signs}\n{trusted}",
        place.display(),
        served.names.join(", "),
        end(served.expires_at),
        served.fingerprint,
    )
}

pub(super) fn of_credentials(place: &Path, credentials: &Credentials) -> String {
    let identity = credentials.identity();
    format!(
        "folder        {}\nrole          {}\nname          {}\nid            {}\nexpires       {}\n",
        place.display(),
        identity.role,
        identity.name,
        identity.id,
        end(credentials.expires_at()),
    )
}

fn end(at: i64) -> String {
    let text = DateTime::from_timestamp(at, 0).map(|at| at.format("%Y-%m-%d %H:%M UTC").to_string());
    let over = if at <= clock::now_millis() / 1_000 { " (over)" } else { "" };
    format!("{}{over}", text.unwrap_or_default())
}
