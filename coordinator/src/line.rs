//! The way of one connection's calls to the coordinator in charge.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tokio_util::sync::CancellationToken;
use tonic::{Status, transport::Channel};

/// The coordinator in charge, as others reach it.
pub struct Elsewhere {
    address: String,
    open: Box<dyn Fn() -> Channel + Send + Sync>,
    /// It is no longer in charge.
    over: CancellationToken,
}

impl Elsewhere {
    /// `address` is for people. `open` makes a channel that connects when it is used.
    pub fn new(address: impl Into<String>, open: impl Fn() -> Channel + Send + Sync + 'static) -> Self {
        Self { address: address.into(), open: Box::new(open), over: CancellationToken::new() }
    }

    /// Ends the calls that are being relayed: a coordinator that hangs would end none of them.
    pub(crate) fn end(&self) {
        self.over.cancel();
    }

    /// Cancelled when it is no longer in charge.
    pub(crate) fn over(&self) -> &CancellationToken {
        &self.over
    }

    pub(crate) fn lost(&self) -> Status {
        Status::unavailable(format!("the coordinator in charge, at {}, does not answer", self.address))
    }
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elsewhere").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Each connection has its own connection to the coordinator in charge, so that none waits for the flow control of another. It
/// is opened with the first call, and closed with the connection.
#[derive(Debug, Clone, Default)]
pub struct Line(Arc<Mutex<Option<Open>>>);

type Open = (Arc<Elsewhere>, Channel);

impl Line {
    pub(crate) fn to(&self, there: &Arc<Elsewhere>) -> Channel {
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*line {
            Some((known, channel)) if Arc::ptr_eq(known, there) => channel.clone(),
            _ => {
                let channel = (there.open)();
                *line = Some((Arc::clone(there), channel.clone()));
                channel
            }
        }
    }
}
