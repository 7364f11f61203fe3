//! Who is at the other end of a connection, and how a coordinator tells what they may do.

use std::{net::SocketAddr, sync::Arc};

use pki::{Authority, Identity, Peer};

use crate::line::Line;

/// How callers are told apart.
#[derive(Debug, Clone)]
pub enum Gate {
    /// Not at all: callers in this process, or a network where everybody is trusted.
    Open,
    /// By the certificates of this authority.
    Certificates(Arc<Authority>),
}

/// What a connection tells about its other end: the extension of every request that came over it.
#[derive(Debug, Clone)]
pub struct Visitor {
    pub address: Option<SocketAddr>,
    pub peer: Peer,
    /// Carries the connection's calls to another coordinator.
    pub line: Line,
}

impl Visitor {
    #[must_use]
    pub fn new(address: Option<SocketAddr>, peer: Peer) -> Self {
        Self { address, peer, line: Line::default() }
    }

    /// The name in the certificate of who calls.
    pub(crate) fn name(extensions: &tonic::Extensions) -> Option<String> {
        Self::identity(extensions).map(|identity| identity.name.clone())
    }

    /// The identity that a worker's session is bound to; empty without a certificate.
    pub(crate) fn owner(extensions: &tonic::Extensions) -> String {
        Self::identity(extensions).map(|identity| identity.id.clone()).unwrap_or_default()
    }

    fn identity(extensions: &tonic::Extensions) -> Option<&Identity> {
        match &extensions.get::<Self>()?.peer {
            Peer::Known(caller) => Some(&caller.identity),
            Peer::Unknown => None,
        }
    }
}
