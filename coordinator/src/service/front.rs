//! What a coordinator answers calls with: its own services if it is in charge, or else those of the one that is.

use std::{
    convert::Infallible,
    fmt,
    sync::{Arc, PoisonError, RwLock},
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use proto::v1::{coordinator_server, runs_server};
use tokio::{sync::watch, time::timeout};
use tonic::{Status, body::Body, service::Routes};
use tonic_health::{ServingStatus, server::HealthReporter};
use tower::Service;

use super::{access::warn, relay::relay, relayed};
use crate::{Clock, Gate, gate::Visitor, line::Elsewhere};

/// Who answers.
#[derive(Clone)]
pub enum Place {
    /// This coordinator is in charge.
    Here(Routes),
    /// Another one is.
    Elsewhere(Arc<Elsewhere>),
    /// Nobody; the text says why.
    Nowhere(String),
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(_) => f.write_str("Here"),
            Self::Elsewhere(there) => there.fmt(f),
            Self::Nowhere(reason) => f.debug_tuple("Nowhere").field(reason).finish(),
        }
    }
}

/// How long calls wait for a coordinator that is starting.
const STARTS_WITHIN: Duration = Duration::from_secs(10);

/// Changes who answers. Connections stay open.
#[derive(Debug, Clone)]
pub struct Switch {
    place: Arc<RwLock<Place>>,
    started: watch::Sender<bool>,
    health: HealthReporter,
}

impl Switch {
    pub fn set(&self, place: Place) {
        let before = std::mem::replace(&mut *self.place.write().unwrap_or_else(PoisonError::into_inner), place);
        if let Place::Elsewhere(there) = before {
            there.end();
        }
        self.started.send_if_modified(|started| !std::mem::replace(started, true));
    }

    fn now(&self) -> Place {
        self.place.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the health service says.
    pub async fn set_ready(&self, ready: bool) {
        let status = if ready { ServingStatus::Serving } else { ServingStatus::NotServing };
        for name in ["", coordinator_server::SERVICE_NAME, runs_server::SERVICE_NAME] {
            self.health.set_service_status(name, status).await;
        }
    }
}

/// Answers every call, over any transport. With certificates, each connection must tell its [`Visitor`].
#[derive(Debug, Clone)]
pub struct Front {
    /// Health and reflection, which every coordinator has for itself.
    own: Routes,
    switch: Switch,
    gate: Gate,
    clock: Clock,
}

impl Front {
    /// Not ready, and nobody in charge, until the switch says otherwise.
    ///
    /// # Errors
    /// The descriptors that reflection serves cannot be read.
    pub async fn new(gate: Gate, clock: Clock) -> Result<(Self, Switch), tonic_reflection::server::Error> {
        let (health, health_server) = tonic_health::server::health_reporter();
        let own = Routes::new(super::guarded(health_server, &gate, &clock));
        let own = own.add_service(super::guarded(super::reflection()?, &gate, &clock)).prepare();
        let place = Arc::new(RwLock::new(Place::Nowhere("this coordinator is starting".to_owned())));
        let switch = Switch { place, started: watch::Sender::new(false), health };
        switch.set_ready(false).await;
        Ok((Self { own, switch: switch.clone(), gate, clock }, switch))
    }

    fn is_own(path: &str) -> bool {
        path.starts_with("/grpc.")
    }

    /// Where the call goes, if it may be made.
    fn place(&self, request: &mut http::Request<Body>) -> Result<Place, Status> {
        let now = self.clock.now();
        let (path, own) = (request.uri().path().to_owned(), Self::is_own(request.uri().path()));
        let mut extensions = std::mem::take(request.extensions_mut());
        let taken = relayed::take(&self.gate, request.headers_mut(), &mut extensions, now);
        *request.extensions_mut() = extensions;
        let is_relayed = taken?;
        if own {
            return Ok(Place::Here(self.own.clone()));
        }
        match self.switch.now() {
            // Guarded by itself.
            Place::Here(routes) => Ok(Place::Here(routes)),
            // Otherwise two that disagree about who is in charge would send it to and fro.
            Place::Elsewhere(_) if is_relayed => {
                Err(Status::unavailable("the coordinator that was in charge no longer is"))
            }
            Place::Elsewhere(there) => {
                let peer = request.extensions().get::<Visitor>().map(|visitor| &visitor.peer);
                self.gate.check(&path, peer, now)?;
                Ok(Place::Elsewhere(there))
            }
            Place::Nowhere(reason) => Err(Status::unavailable(reason)),
        }
    }
}

impl Service<http::Request<Body>> for Front {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        if *self.switch.started.borrow() || Self::is_own(request.uri().path()) {
            return self.answer(request);
        }
        let (front, mut started) = (self.clone(), self.switch.started.subscribe());
        Box::pin(async move {
            let _ = timeout(STARTS_WITHIN, started.wait_for(|started| *started)).await;
            front.answer(request).await
        })
    }
}

impl Front {
    fn answer(&self, mut request: http::Request<Body>) -> BoxFuture<'static, Result<http::Response<Body>, Infallible>> {
        let answer = match self.place(&mut request) {
            Ok(Place::Here(mut routes)) => return Box::pin(routes.call(request)),
            Ok(Place::Elsewhere(there)) => return Box::pin(async move { Ok(relay(there, request).await) }),
            Ok(Place::Nowhere(reason)) => Status::unavailable(reason),
            Err(status) => status,
        };
        if answer.code() != tonic::Code::Unavailable {
            warn(request.uri().path(), request.extensions().get::<Visitor>(), &answer);
        }
        Box::pin(std::future::ready(Ok(answer.into_http())))
    }
}
