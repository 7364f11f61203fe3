//! The service for certificates: a token for a certificate, a certificate before it expires, and tokens for others.

use std::{sync::Arc, time::Duration};

use pki::{Authority, Issued, Peer, Role};
use proto::v1;
use tonic::{Request, Response, Status};

use crate::{Clock, gate::Visitor};

/// A token that is good for longer is a password.
const LONGEST_TOKEN: Duration = Duration::from_secs(24 * 3_600);

#[derive(Debug)]
pub(super) struct Certificates {
    pub(super) authority: Arc<Authority>,
    pub(super) clock: Clock,
}

#[tonic::async_trait]
impl v1::certificates_server::Certificates for Certificates {
    async fn exchange(&self, request: Request<v1::ExchangeRequest>) -> Result<Response<v1::CertificateReply>, Status> {
        let address = request.extensions().get::<Visitor>().and_then(|visitor| visitor.address);
        let address = address.map(|address| address.to_string()).unwrap_or_default();
        let v1::ExchangeRequest { secret, request, name } = request.into_inner();
        match self.authority.exchange(&secret, &request, &name, self.clock.now()) {
            Ok((identity, issued)) => {
                tracing::info!(name = identity.name, role = %identity.role, id = identity.id, address, "a token was used");
                Ok(Response::new(to_wire(issued)))
            }
            Err(error) => {
                tracing::warn!(address, %error, "a certificate is refused");
                Err(status(&error))
            }
        }
    }

    async fn renew(&self, request: Request<v1::RenewRequest>) -> Result<Response<v1::CertificateReply>, Status> {
        let caller = match request.extensions().get::<Visitor>().map(|visitor| &visitor.peer) {
            Some(Peer::Known(caller)) => caller.clone(),
            _ => return Err(Status::unauthenticated("only a certificate can be renewed")),
        };
        let issued = self.authority.renew(&caller, &request.into_inner().request, self.clock.now());
        let issued = issued.map_err(|error| status(&error))?;
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
        let token = self.authority.token(role, lifetime, self.clock.now()).map_err(|error| status(&error))?;
        tracing::info!(%role, seconds = lifetime.as_secs(), "a token was made");
        Ok(Response::new(v1::CreateTokenReply { token: token.reveal() }))
    }
}

fn to_wire(issued: Issued) -> v1::CertificateReply {
    let authorities = issued.authorities.into_iter().map(Into::into).collect();
    v1::CertificateReply { certificate: issued.certificate.into(), authorities }
}

fn status(error: &pki::Error) -> Status {
    use pki::Error as Reason;
    let text = error.to_string();
    match error {
        Reason::UnknownToken | Reason::UsedToken | Reason::ExpiredToken => Status::unauthenticated(text),
        Reason::Revoked(_) => Status::permission_denied(text),
        Reason::Request(_) => Status::invalid_argument(text),
        Reason::NoKey(_) => Status::failed_precondition(text),
        _ => Status::internal(text),
    }
}
