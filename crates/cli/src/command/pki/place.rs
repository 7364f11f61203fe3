//! On the machine of the coordinator, in the folder with the CA's key.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use pki::{Authority, Identity, Role};
use record::count::plural;

use super::{
    args::{Init, Issue, Renew, Revoke, Rotate, seconds},
    show,
};
use crate::{clock, exit::usage, stderr::say, stdout};

pub(super) fn init(args: &Init) -> anyhow::Result<()> {
    let place = &args.place.pki;
    let authority =
        Authority::create(place, &args.names, args.name.as_deref().unwrap_or(Role::Admin.name()), clock::now_millis());
    let authority = authority.context("failed to make the CA").map_err(usage)?;
    stdout::write(&show::of_authority(place, &authority.served()))?;
    let (pki, admin) = (place.display(), place.join(pki::folder::ADMIN));
    let admin = admin.display();
    say(&format!(
        "`gabfest coordinator` uses it with --tls {pki}, or by itself if it is in its --data folder\n\
         {admin} is the identity of an administrator, for --identity\n\
         `gabfest pki token --role worker --identity {admin}` makes a join token while the coordinator runs"
    ));
    Ok(())
}

pub(super) fn issue(args: &Issue) -> anyhow::Result<()> {
    let lifetime = args.lifetime.map_or(args.role.lifetime(), seconds);
    let name = args.name.as_deref().unwrap_or(args.role.name());
    let issued = open(&args.place.pki)?.issue(args.role, name, lifetime, clock::now_millis());
    let credentials = issued.context("failed to make a certificate")?;
    credentials.save(&args.out).context("failed to write the identity")?;
    stdout::write(&show::of_credentials(&args.out, &credentials))?;
    Ok(())
}

pub(super) fn renew(args: &Renew) -> anyhow::Result<()> {
    let authority = open(&args.place.pki)?;
    let renewed = authority.renew_coordinator(&args.names, clock::now_millis());
    renewed.context("failed to renew the certificate of the coordinator").map_err(usage)?;
    stdout::write(&show::of_authority(&args.place.pki, &authority.served()))?;
    Ok(())
}

pub(super) fn rotate(args: &Rotate) -> anyhow::Result<()> {
    let authority = open(&args.place.pki)?;
    if args.finish {
        authority.forget_former().context("failed to forget the former CA").map_err(usage)?;
    } else {
        authority.rotate(clock::now_millis()).context("failed to make another CA")?;
    }
    let count = u64::try_from(authority.served().authorities).unwrap_or(0);
    stdout::line(&format!("{} trusted", plural(count, "CA is", "CAs are")))?;
    if !args.finish {
        say(
            "certificates are signed by the new CA from now on; workers renew theirs within 16 hours, people when they use them\n\
             then: `gabfest pki renew`, and `gabfest pki rotate --finish`",
        );
    }
    Ok(())
}

pub(super) fn revoke(args: &Revoke) -> anyhow::Result<()> {
    if !Identity::has_form_of_id(&args.id) {
        return Err(usage(anyhow!(
            "{:?} is not the id of an identity, which has 16 hexadecimal digits\nhint: `gabfest pki show DIR` prints it, and the coordinator's log",
            args.id
        )));
    }
    open(&args.place.pki)?.revoke(&args.id).context("failed to write the list of revoked identities")?;
    stdout::line(&format!("{} is refused from now on", args.id))?;
    Ok(())
}

fn open(place: &Path) -> anyhow::Result<Authority> {
    if !Authority::is_in(place) {
        return Err(usage(anyhow!(
            "there is no CA in {}\nhint: `gabfest pki init NAME…` makes one; --pki names another folder",
            place.display()
        )));
    }
    Authority::open(place)
        .with_context(|| format!("failed to read the certificates in {}", place.display()))
        .map_err(usage)
}
