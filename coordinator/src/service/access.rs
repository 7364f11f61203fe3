//! Which role may call what. A call that is not in the table is refused.

use std::{
    convert::Infallible,
    task::{Context, Poll},
};

use futures_util::future::Either;
use pki::{Caller, Peer, Role};
use tonic::{Status, body::Body, server::NamedService};
use tower::Service;

use crate::gate::{Gate, Visitor};

/// Who may make a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    /// Without a certificate too.
    Anybody,
    /// With any certificate.
    Known,
    Roles(&'static [Role]),
}

const PLAY: Allowed = Allowed::Roles(&[Role::Worker, Role::Admin]);
const READ: Allowed = Allowed::Roles(&[Role::View, Role::Submit, Role::Admin]);
const STEER: Allowed = Allowed::Roles(&[Role::Submit, Role::Admin]);

fn allowed(path: &str) -> Option<Allowed> {
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    Some(match (service, method) {
        ("gabfest.v1.Coordinator", "Join" | "Work") => PLAY,
        // To read a report, a person needs the plan of its run.
        ("gabfest.v1.Coordinator", "GetPlan") => Allowed::Roles(&Role::ALL),
        (
            "gabfest.v1.Runs",
            "Watch" | "List" | "GetSummary" | "Export" | "GetAttempts" | "GetSpend" | "ListWorkers",
        ) => READ,
        ("gabfest.v1.Runs", "Delete") => Allowed::Roles(&[Role::Admin]),
        ("gabfest.v1.Runs", "Submit" | "Cancel" | "Resume" | "Pause" | "SetSlots" | "SetRate") => STEER,
        ("gabfest.v1.Certificates", "Exchange") => Allowed::Anybody,
        ("gabfest.v1.Certificates", "Renew") => Allowed::Known,
        ("gabfest.v1.Certificates", "CreateToken") => Allowed::Roles(&[Role::Admin]),
        ("grpc.health.v1.Health", _) => Allowed::Anybody,
        ("grpc.reflection.v1.ServerReflection", _) => Allowed::Known,
        _ => return None,
    })
}

impl Gate {
    /// # Errors
    /// The call is not for this caller. `now`: Unix milliseconds.
    pub(super) fn check(&self, path: &str, peer: Option<&Peer>, now: i64) -> Result<(), Status> {
        let Self::Certificates(authority) = self else { return Ok(()) };
        let Some(allowed) = allowed(path) else { return Err(Status::permission_denied("nobody may call this")) };
        if allowed == Allowed::Anybody {
            return Ok(());
        }
        let Some(Peer::Known(Caller { identity, expires_at })) = peer else {
            return Err(Status::unauthenticated("this coordinator answers clients with a certificate only"));
        };
        if now / 1_000 >= *expires_at {
            return Err(Status::unauthenticated(format!("the certificate of {} has expired", identity.name)));
        }
        if identity.role == Role::Coordinator {
            return Err(Status::permission_denied("a coordinator makes calls for others only"));
        }
        if authority.is_revoked(identity) {
            return Err(Status::permission_denied(format!("the certificate of {} is revoked", identity.name)));
        }
        match allowed {
            Allowed::Roles(roles) if !roles.contains(&identity.role) => {
                let method = path.rsplit('/').next().unwrap_or_default();
                let roles = roles.iter().map(|role| role.name()).collect::<Vec<_>>().join(" or ");
                let role = identity.role;
                Err(Status::permission_denied(format!("the role {role} may not call {method}; it is for {roles}")))
            }
            _ => Ok(()),
        }
    }
}

/// A service behind a gate.
#[derive(Debug, Clone)]
pub(super) struct Guarded<S> {
    pub(super) service: S,
    pub(super) gate: Gate,
    pub(super) clock: crate::Clock,
}

impl<S: NamedService> NamedService for Guarded<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Guarded<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Either<S::Future, std::future::Ready<Result<Self::Response, Infallible>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let visitor = request.extensions().get::<Visitor>();
        let path = request.uri().path();
        match self.gate.check(path, visitor.map(|visitor| &visitor.peer), self.clock.now()) {
            Ok(()) => Either::Left(self.service.call(request)),
            Err(status) => {
                warn(path, visitor, &status);
                Either::Right(std::future::ready(Ok(status.into_http())))
            }
        }
    }
}

pub(super) fn warn(path: &str, visitor: Option<&Visitor>, status: &Status) {
    let address = visitor.and_then(|visitor| visitor.address).map(|address| address.to_string()).unwrap_or_default();
    let caller = match visitor.map(|visitor| &visitor.peer) {
        Some(Peer::Known(caller)) => caller.identity.name.as_str(),
        _ => "without a certificate",
    };
    tracing::warn!(path, caller, address, reason = status.message(), "a call is refused");
}

#[cfg(test)]
mod tests;
