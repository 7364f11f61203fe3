//! The service for certificates: a token for a certificate, a certificate before it expires, and tokens for others.

use std::{sync::Arc, time::Duration};

use pki::{Authority, Identity, Issued, Peer, Role};
use proto::v1;
use scenario::Digest;
use store::{JoinToken, Redeemed, Store};
use tonic::{Request, Response, Status};

use super::status::status;
use crate::{Clock, gate::Visitor};

/// A token that is good for longer is a password.
const LONGEST_TOKEN: Duration = Duration::from_secs(24 * 3_600);

/// Tokens are in the store, where the next coordinator finds them.
#[derive(Debug)]
pub(super) struct Certificates<S> {
    pub(super) authority: Arc<Authority>,
    pub(super) store: Arc<S>,
    pub(super) clock: Clock,
}

impl<S: Store> Certificates<S> {
    async fn exchanged(&self, asked: &v1::ExchangeRequest) -> Result<(Identity, Issued), Status> {
        self.authority.check(&asked.request).map_err(|error| refused(&error))?;
        let now = self.clock.now();
        let redeemed =
            self.store.redeem(&Digest::of(&asked.secret), now).await.map_err(|error| status(error.into()))?;
        let role = match &redeemed {
            Redeemed::As(role) => Role::named(role),
            Redeemed::Used => {
                return Err(Status::unauthenticated("the join token was used already; a token is for one certificate"));
            }
            Redeemed::Expired => return Err(Status::unauthenticated("the join token has expired")),
            Redeemed::Unknown => None,
        };
        let role = role.ok_or_else(|| Status::unauthenticated("the join token is unknown"))?;
        self.authority.admit(role, &asked.request, &asked.name, now).map_err(|error| refused(&error))
    }
}

#[tonic::async_trait]
impl<S: Store> v1::certificates_server::Certificates for Certificates<S> {
    async fn exchange(&self, request: Request<v1::ExchangeRequest>) -> Result<Response<v1::CertificateReply>, Status> {
        let address = request.extensions().get::<Visitor>().and_then(|visitor| visitor.address);
        let address = address.map(|address| address.to_string()).unwrap_or_default();
        match self.exchanged(request.get_ref()).await {
            Ok((identity, issued)) => {
                tracing::info!(name = identity.name, role = %identity.role, id = identity.id, address, "a token was used");
                Ok(Response::new(to_wire(issued)))
            }
            Err(status) => {
                tracing::warn!(address, reason = status.message(), "a certificate is refused");
                Err(status)
            }
        }
    }

    async fn renew(&self, request: Request<v1::RenewRequest>) -> Result<Response<v1::CertificateReply>, Status> {
        let caller = match request.extensions().get::<Visitor>().map(|visitor| &visitor.peer) {
            Some(Peer::Known(caller)) => caller.clone(),
            _ => return Err(Status::unauthenticated("only a certificate can be renewed")),
        };
        let issued = self.authority.renew(&caller, &request.into_inner().request, self.clock.now());
        let issued = issued.map_err(|error| refused(&error))?;
        tracing::info!(name = caller.identity.name, role = %caller.identity.role, "a certificate was renewed");
        Ok(Response::new(to_wire(issued)))
    }

    async fn create_token(
        &self,
        request: Request<v1::CreateTokenRequest>,
    ) -> Result<Response<v1::CreateTokenReply>, Status> {
        let v1::CreateTokenRequest { role, ttl_seconds } = request.into_inner();
        let role: Role = role.parse().map_err(Status::invalid_argument)?;
        let lifetime = Duration::from_secs(u64::from(ttl_seconds));
        if lifetime.is_zero() || lifetime > LONGEST_TOKEN {
            return Err(Status::invalid_argument("a token is good for 1 second to 24 hours"));
        }
        let token = self.authority.token(role).map_err(|error| refused(&error))?;
        let now = self.clock.now();
        let millis = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
        let kept = JoinToken {
            digest: Digest::of(token.secret()),
            role: role.name().to_owned(),
            expires_at: now.saturating_add(millis),
        };
        self.store.add_join_token(&kept, now).await.map_err(|error| status(error.into()))?;
        tracing::info!(%role, seconds = lifetime.as_secs(), "a token was made");
        Ok(Response::new(v1::CreateTokenReply { token: token.reveal() }))
    }
}

fn to_wire(issued: Issued) -> v1::CertificateReply {
    let authorities = issued.authorities.into_iter().map(Into::into).collect();
    v1::CertificateReply { certificate: issued.certificate.into(), authorities }
}

fn refused(error: &pki::Error) -> Status {
    use pki::Error as Reason;
    let text = error.to_string();
    match error {
        Reason::Revoked(_) => Status::permission_denied(text),
        Reason::Request(_) => Status::invalid_argument(text),
        Reason::NoKey => Status::failed_precondition(text),
        _ => Status::internal(text),
    }
}
