//! Who makes a call that another coordinator relays.

use http::{Extensions, HeaderMap};
use pki::{Caller, Identity, Peer, Role};
use proto::{RELAYED_CALLER, v1::RelayedCaller};
use tonic::{
    Status,
    metadata::{BinaryMetadataValue, MetadataMap},
};

use crate::gate::{Gate, Visitor};

/// Says to the next coordinator who makes the call, instead of anything that the caller says about it.
pub(super) fn pass_on(visitor: Option<&Visitor>, headers: &mut HeaderMap) {
    let address = visitor.and_then(|visitor| visitor.address).map(|address| address.to_string());
    let mut caller = RelayedCaller { address: address.unwrap_or_default(), ..RelayedCaller::default() };
    if let Some(Peer::Known(Caller { identity, expires_at })) = visitor.map(|visitor| &visitor.peer) {
        caller.id.clone_from(&identity.id);
        caller.name.clone_from(&identity.name);
        identity.role.name().clone_into(&mut caller.role);
        caller.expires_at = *expires_at;
    }
    let mut said = MetadataMap::new();
    said.insert_bin(RELAYED_CALLER, BinaryMetadataValue::from_bytes(&proto::caller_to_bytes(&caller)));
    headers.remove(RELAYED_CALLER);
    headers.extend(said.into_headers());
}

/// Replaces the visitor of a relayed call, which is a coordinator, by the one that it names. Returns whether the call is
/// relayed. `now`: Unix milliseconds.
///
/// # Errors
/// The call comes from somebody else, or its caller cannot be read.
pub(super) fn take(
    gate: &Gate,
    headers: &mut HeaderMap,
    extensions: &mut Extensions,
    now: i64,
) -> Result<bool, Status> {
    if !headers.contains_key(RELAYED_CALLER) {
        return Ok(false);
    }
    let by_coordinator = |visitor: &Visitor| match (&visitor.peer, gate) {
        (_, Gate::Open) => true,
        (Peer::Known(Caller { identity, expires_at }), Gate::Certificates(authority)) => {
            identity.role == Role::Coordinator && now / 1_000 < *expires_at && !authority.is_revoked(identity)
        }
        (Peer::Unknown, Gate::Certificates(_)) => false,
    };
    let visitor = extensions.get::<Visitor>();
    if !visitor.map_or(matches!(gate, Gate::Open), by_coordinator) {
        return Err(Status::permission_denied("only a coordinator may say who makes a call"));
    }
    let mut said = HeaderMap::new();
    for value in headers.get_all(RELAYED_CALLER) {
        said.append(RELAYED_CALLER, value.clone());
    }
    headers.remove(RELAYED_CALLER);
    let unreadable = || Status::invalid_argument("the caller of a relayed call cannot be read");
    let said = MetadataMap::from_headers(said);
    let bytes = said.get_bin(RELAYED_CALLER).and_then(|value| value.to_bytes().ok()).ok_or_else(unreadable)?;
    let caller = proto::caller_from_bytes(&bytes).map_err(|_| unreadable())?;
    let peer = match (gate, caller.id.as_str()) {
        (Gate::Open, _) | (_, "") => Peer::Unknown,
        (Gate::Certificates(_), id) => {
            let role = Role::named(&caller.role).ok_or_else(unreadable)?;
            let identity = Identity { id: id.to_owned(), name: caller.name, role };
            Peer::Known(Caller { identity, expires_at: caller.expires_at })
        }
    };
    extensions.insert(Visitor::new(caller.address.parse().ok(), peer));
    Ok(true)
}
