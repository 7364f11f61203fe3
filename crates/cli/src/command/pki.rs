//! `gabfest pki`: the certificates of a fleet.

mod args;
mod client;
mod place;
mod show;

pub(crate) use self::args::JoinToken;
use self::args::{Init, Issue, Join, MakeToken, Renew, Revoke, Rotate, Show};
pub(crate) use self::client::join_if_needed;
use crate::exit::Exit;

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
    /// Make a new certificate for the coordinator, which uses it within seconds
    Renew(Renew),
    /// Make a new CA, which signs from now on; the CA before it stays trusted until --finish
    Rotate(Rotate),
    /// Refuse an identity from now on
    Revoke(Revoke),
    /// Show an identity, or the certificates of a coordinator
    Show(Show),
}

pub(crate) async fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Init(args) => place::init(&args)?,
        Command::Token(args) => client::token(&args).await?,
        Command::Join(args) => client::join(&args).await?,
        Command::Issue(args) => place::issue(&args)?,
        Command::Renew(args) => place::renew(&args)?,
        Command::Rotate(args) => place::rotate(&args)?,
        Command::Revoke(args) => place::revoke(&args)?,
        Command::Show(args) => show::show(&args.dir)?,
    }
    Ok(Exit::Held)
}
