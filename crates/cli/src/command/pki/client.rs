//! For a client of a coordinator: make a token for somebody else, and exchange one.

use std::{io::Read as _, path::Path};

use anyhow::{Context as _, anyhow};
use pki::{Credentials, Token};
use proto::v1::{self, certificates_client::CertificatesClient};

use super::{
    args::{Join, JoinToken, MakeToken},
    show,
};
use crate::{clock, exit::usage, observed, patience::answered, remote, stderr::say, stdout};

/// Not a flag: everybody on a machine sees the arguments of its programs.
const VARIABLE: &str = "GABFEST_JOIN_TOKEN";
/// A token has about a hundred letters.
const LONGEST_TOKEN: u64 = 4_096;

pub(super) async fn token(args: &MakeToken) -> anyhow::Result<()> {
    let identity = remote::Identity { identity: args.identity.clone() };
    let channel = remote::connect(&args.coordinator, &identity).await?;
    let ttl_seconds = u32::try_from(args.ttl).unwrap_or(u32::MAX);
    let asked = v1::CreateTokenRequest { role: args.role.name().to_owned(), ttl_seconds };
    let mut certificates = CertificatesClient::new(channel);
    let reply = answered("no join token was made", async || certificates.create_token(asked.clone()).await).await;
    stdout::line(&reply.map_err(usage)?.token)?;
    Ok(())
}

pub(super) async fn join(args: &Join) -> anyhow::Result<()> {
    let Some(token) = read_token(&args.token)? else {
        return Err(usage(anyhow!(
            "there is no join token\nhint: set {VARIABLE}, or name a file with --join-token-file"
        )));
    };
    let name = args.name.clone().unwrap_or_else(observed::instance);
    let folder = &args.identity.identity;
    let credentials = exchange(&args.coordinator, &token, &name, folder).await?;
    stdout::write(&show::of_credentials(folder, &credentials))?;
    Ok(())
}

/// For a worker that starts: uses the token if there is no valid identity yet.
pub(crate) async fn join_if_needed(
    address: &str,
    token: &JoinToken,
    name: &str,
    identity: &remote::Identity,
) -> anyhow::Result<()> {
    let folder = &identity.identity;
    let is_valid = |credentials: Credentials| credentials.expires_at() > clock::now_millis() / 1_000;
    if Credentials::is_in(folder) && Credentials::load(folder).is_ok_and(is_valid) {
        return Ok(());
    }
    let Some(token) = read_token(token)? else { return Ok(()) };
    let credentials = exchange(address, &token, name, folder).await?;
    say(&format!("joined as {}: the identity is in {}", credentials.identity().name, folder.display()));
    Ok(())
}

async fn exchange(address: &str, token: &Token, name: &str, folder: &Path) -> anyhow::Result<Credentials> {
    pki::folder::prepare(folder).context("failed to write the identity").map_err(usage)?;
    let credentials = remote::join(address, token, name).await?;
    credentials.save(folder).context("failed to write the identity").map_err(usage)?;
    Ok(credentials)
}

/// The token of the file, or else of the variable.
fn read_token(from: &JoinToken) -> anyhow::Result<Option<Token>> {
    let text = match &from.join_token_file {
        Some(path) => read(path).with_context(|| format!("failed to read {}", path.display())).map_err(usage)?,
        None => match std::env::var(VARIABLE) {
            Ok(text) if !text.trim().is_empty() => text,
            _ => return Ok(None),
        },
    };
    redact::register(text.trim());
    let token = text.parse().map_err(|error: pki::Error| {
        usage(anyhow!("{error}\nhint: `gabfest pki token` prints a whole token; it begins with gabfest1"))
    })?;
    Ok(Some(token))
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().take(LONGEST_TOKEN).read_to_string(&mut text)?;
    } else {
        std::fs::File::open(path)?.take(LONGEST_TOKEN).read_to_string(&mut text)?;
    }
    Ok(text)
}
