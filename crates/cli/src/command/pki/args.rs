//! The flags of the subcommands of `gabfest pki`.

use std::{path::PathBuf, time::Duration};

use pki::Role;

use crate::{
    args::{LONGEST_SECONDS, whole},
    remote,
};

/// Where `gabfest coordinator` looks for it.
const USUAL_PLACE: &str = "gabfest-data/pki";
/// Where `gabfest pki init` writes the identity of an administrator.
const ADMIN: &str = "gabfest-data/pki/admin";
/// Long enough to start a worker by hand.
const TOKEN_SECONDS: u64 = 15 * 60;
const LONGEST_TOKEN_SECONDS: u64 = 24 * 3_600;

/// The coordinator's folder.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Place {
    /// The folder of the CA and of the coordinator's certificate
    #[arg(long, value_name = "DIR", default_value = USUAL_PLACE)]
    pub(super) pki: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// Host names and IP addresses by which workers and people reach the coordinator; those of its own machine are added
    #[arg(value_name = "NAME|IP")]
    pub(super) names: Vec<String>,
    /// The name of the administrator, for people [default: admin]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MakeToken {
    /// What the certificate allows: `worker`: play trials; `view`: read runs; `submit`: also start and stop runs; `admin`:
    /// also make tokens
    #[arg(long, value_name = "ROLE")]
    pub(super) role: Role,
    /// For how many seconds it can be used
    #[arg(long, value_name = "S", default_value_t = TOKEN_SECONDS, value_parser = whole::<u64>(1..=LONGEST_TOKEN_SECONDS))]
    pub(super) ttl: u64,
    /// The coordinator that makes it; of several that share a store, any
    #[arg(long, value_name = "URL", default_value = "https://127.0.0.1:7400", env = "GABFEST_COORDINATOR")]
    pub(super) coordinator: String,
    /// The folder with the identity of an administrator, such as the one that `gabfest pki init` wrote
    #[arg(long, value_name = "DIR", default_value = ADMIN, env = "GABFEST_IDENTITY")]
    pub(super) identity: PathBuf,
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
    pub(super) coordinator: String,
    /// The name in the certificate, for people [default: host name and process id]
    #[arg(long)]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) token: JoinToken,
    #[command(flatten)]
    pub(super) identity: remote::Identity,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Issue {
    /// What the certificate allows: `worker`, `view`, `submit` or `admin`
    #[arg(long, value_name = "ROLE")]
    pub(super) role: Role,
    /// The name in the certificate, for people [default: the role]
    #[arg(long)]
    pub(super) name: Option<String>,
    /// For how many seconds it is valid [default: a day for `worker`, else 30 days]
    #[arg(long, value_name = "S", value_parser = whole::<u64>(1..=LONGEST_SECONDS))]
    pub(super) lifetime: Option<u64>,
    /// The folder for the identity
    #[arg(short, long, value_name = "DIR")]
    pub(super) out: PathBuf,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Renew {
    /// Host names and IP addresses of the coordinator [default: those of its present certificate]
    #[arg(value_name = "NAME|IP")]
    pub(super) names: Vec<String>,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Rotate {
    /// Trust only the new CA, once every client has renewed its certificate and the coordinator's is renewed too
    #[arg(long)]
    pub(super) finish: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Revoke {
    /// The id of the identity, as `gabfest pki show` and the coordinator's log print it
    pub(super) id: String,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The folder of an identity or of a coordinator
    #[arg(default_value = USUAL_PLACE)]
    pub(super) dir: PathBuf,
}

pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
