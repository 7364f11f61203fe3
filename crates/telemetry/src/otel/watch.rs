//! Limits the effect of a bad collector: one warning, a timeout for every message, and a quick shutdown.

use std::{
    collections::BTreeSet,
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use tokio::{runtime::Handle, sync::watch};

use super::connection::Cause;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Signal {
    Traces,
    Metrics,
    Logs,
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
            Self::Logs => "logs",
        })
    }
}

/// The signals that a collector refuses, for all exporters of a process.
#[derive(Debug, Default)]
pub(super) struct Health {
    failing: Mutex<BTreeSet<Signal>>,
}

impl Health {
    fn failed(&self, signal: Signal, error: &str) {
        let first = {
            let mut failing = self.lock();
            let first = failing.is_empty();
            failing.insert(signal);
            first
        };
        if first {
            tracing::warn!(%signal, error, "telemetry cannot be exported; the run continues without it");
        }
    }

    fn worked(&self, signal: Signal) {
        let last = {
            let mut failing = self.lock();
            failing.remove(&signal) && failing.is_empty()
        };
        if last {
            tracing::info!(%signal, "telemetry is exported again");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<Signal>> {
        self.failing.lock().expect("no panic happens while the health is locked")
    }
}

/// The watch of one exporter.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    pub(super) signal: Signal,
    pub(super) health: Arc<Health>,
    /// The timeout of a message with its retries.
    pub(super) limit: Duration,
    pub(super) runtime: Handle,
    /// True when the process must stop waiting.
    pub(super) over: watch::Receiver<bool>,
    /// The last failure of the exporter's connection.
    pub(super) cause: Cause,
}

impl Watch {
    /// Sends, and returns whether it arrived. The SDK calls this from its own threads, without a runtime.
    pub(super) async fn send(&self, export: impl Future<Output = OTelSdkResult>) -> OTelSdkResult {
        let limit = {
            let _inside = self.runtime.enter();
            tokio::time::sleep(self.limit)
        };
        let mut over = self.over.clone();
        let mut export = pin!(export);
        let export = poll_fn(|context| {
            // Clients start timers and connections where they are polled, so that must be in the runtime.
            let _inside = self.runtime.enter();
            export.as_mut().poll(context)
        });
        let result = tokio::select! {
            biased;
            result = export => result,
            () = limit => Err(OTelSdkError::Timeout(self.limit)),
            _ = over.wait_for(|over| *over) => Err(OTelSdkError::InternalFailure("the process ends".to_owned())),
        };
        match &result {
            Ok(()) => {
                // The failure of an earlier try.
                self.cause.take();
                self.health.worked(self.signal);
            }
            Err(error) => {
                let cause = self.cause.take().map(|cause| format!(": {cause}")).unwrap_or_default();
                self.health.failed(self.signal, &redact::redact(&format!("{error}{cause}")));
            }
        }
        result
    }
}
