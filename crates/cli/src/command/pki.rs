//! `gabfest pki`: the certificates of a fleet.

mod client;
mod place;
mod show;

use std::{path::PathBuf, time::Duration};

use pki::Role;

pub(crate) use self::client::join_if_needed;
use crate::{
    args::{LONGEST_SECONDS, whole},
    exit::Exit,
    remote,
};

/// Where `gabfest coordinator` looks for it.
const USUAL_PLACE: &str = "gabfest-data/pki";
/// Long enough to start a worker by hand.
const TOKEN_SECONDS: u64 = 15 * 60;
const LONGEST_TOKEN_SECONDS: u64 = 24 * 3_600;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Make a CA, the coordinator's certificate, and the identity of an administrator
    Init(Init),
    /// Make a join token, which is good for one certificate
    Token(MakeToken),
    /// Exchange a join token for a certificate
    Join(Join),
    /// Make a certificate without a token, on the machine that has the CA's key
    Issue(Issue),
    /// Make another certificate for the coordinator, which uses it within seconds
    Renew(Renew),
    /// Make another CA, which signs from now on; the CA before it stays trusted until --finish
    Rotate(Rotate),
    /// Refuse an identity from now on
    Revoke(Revoke),
    /// Show an identity, or the certificates of a coordinator
    Show(Show),
}

/// The coordinator's folder.
#[derive(Debug, Clone, clap::Args)]
struct Place {
    /// The folder of the CA and of the coordinator's certificate
    #[arg(long, value_name = "DIR", default_value = USUAL_PLACE)]
    pki: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// Host names and IP addresses by which workers and people reach the coordinator; those of its own machine are added
    #[arg(value_name = "NAME|IP")]
    names: Vec<String>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MakeToken {
    /// What the certificate allows: `worker`: play trials; `view`: read runs; `submit`: also start and stop runs; `admin`:
    /// also make tokens
    #[arg(long, value_name = "ROLE")]
    role: Role,
    /// For how many seconds it can be used
    #[arg(long, value_name = "S", default_value_t = TOKEN_SECONDS, value_parser = whole::<u64>(1..=LONGEST_TOKEN_SECONDS))]
    ttl: u64,
    /// Ask this coordinator, as an administrator, instead of writing to its folder
    #[arg(long, value_name = "URL", conflicts_with = "pki")]
    coordinator: Option<String>,
    #[command(flatten)]
    identity: remote::Identity,
    #[command(flatten)]
    place: Place,
}

/// Where a join token comes from: shared by `pki join` and `worker`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct JoinToken {
    /// Read a join token from this file, or from stdin (`-`) [default: the variable GABFEST_JOIN_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub(crate) join_token_file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Join {
    /// The coordinator's address
    #[arg(long, value_name = "URL", env = "GABFEST_COORDINATOR")]
    coordinator: String,
    /// The name in the certificate, for people [default: host name and process id]
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    token: JoinToken,
    #[command(flatten)]
    identity: remote::Identity,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Issue {
    /// What the certificate allows: `worker`, `view`, `submit` or `admin`
    #[arg(long, value_name = "ROLE")]
    role: Role,
    /// The name in the certificate, for people [default: the role]
    #[arg(long)]
    name: Option<String>,
    /// For how many seconds it is valid [default: a day for `worker`, else 30 days]
    #[arg(long, value_name = "S", value_parser = whole::<u64>(1..=LONGEST_SECONDS))]
    lifetime: Option<u64>,
    /// The folder for the identity
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Renew {
    /// Host names and IP addresses of the coordinator [default: those of its present certificate]
    #[arg(value_name = "NAME|IP")]
    names: Vec<String>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Rotate {
    /// Trust only the new CA, once every client has renewed its certificate and the coordinator's is renewed too
    #[arg(long)]
    finish: bool,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Revoke {
    /// The id of the identity, as `gabfest pki show` and the coordinator's log print it
    id: String,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The folder of an identity or of a coordinator
    #[arg(default_value = USUAL_PLACE)]
    dir: PathBuf,
}

pub(crate) async fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Init(args) => place::init(&args)?,
        Command::Token(args) => match &args.coordinator {
            Some(address) => client::token(address, &args).await?,
            None => place::token(&args)?,
        },
        Command::Join(args) => client::join(&args).await?,
        Command::Issue(args) => place::issue(&args)?,
        Command::Renew(args) => place::renew(&args)?,
        Command::Rotate(args) => place::rotate(&args)?,
        Command::Revoke(args) => place::revoke(&args)?,
        Command::Show(args) => show::show(&args.dir)?,
    }
    Ok(Exit::Held)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
