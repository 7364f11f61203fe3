//! What this process reports about itself: traces and metrics for the collector of the `OTEL_*` variables, and
//! `--metrics-listen`.

use std::sync::OnceLock;

use anyhow::Context as _;
use coordinator::Observers;
use telemetry::{
    Traces,
    metrics::{Health, Meters, Page, Worker, endpoint},
    names::{Conventions, OPT_IN},
    otel::{Config, Service, Telemetry},
};
use tokio::net::TcpListener;

use crate::{args, exit::usage, listening, stderr::say};

/// Lives as long as a role.
pub(crate) struct Observed {
    telemetry: Telemetry,
    meters: Option<Meters>,
    worker: OnceLock<Worker>,
    page: Option<(TcpListener, Page)>,
}

impl Observed {
    /// `name` is the role, `instance` distinguishes this process from others of the role. Call it after reading the
    /// environment file.
    pub(crate) async fn start(name: &str, instance: &str, page: &args::Page) -> anyhow::Result<Self> {
        let config = Config::from_env().context("failed to set up telemetry").map_err(usage)?;
        for warning in &config.warnings {
            tracing::warn!("{warning}; the variable is left aside");
        }
        let service = Service { name, version: env!("CARGO_PKG_VERSION"), instance };
        let mut telemetry = Telemetry::start(&config, service).context("failed to set up telemetry").map_err(usage)?;
        let page = match page.metrics_listen {
            None => None,
            Some(address) => {
                listening::allow(address, page.insecure_i_know, "metrics are")?;
                let listener = TcpListener::bind(address)
                    .await
                    .with_context(|| format!("failed to listen on {address} for --metrics-listen"))
                    .map_err(usage)?;
                Some((listener, Page::default()))
            }
        };
        let conventions = Conventions::read(std::env::var(OPT_IN).ok().as_deref());
        let meters = Meters::start(&mut telemetry, page.as_ref().map(|(_, page)| page), conventions)
            .context("failed to set up metrics")?;
        Ok(Self { telemetry, meters, worker: OnceLock::new(), page })
    }

    pub(crate) fn traces(&self) -> Traces {
        self.telemetry.traces()
    }

    pub(crate) fn worker(&self) -> Worker {
        self.worker.get_or_init(|| self.meters.as_ref().map(Meters::worker).unwrap_or_default()).clone()
    }

    /// Call once: a process has one coordinator.
    pub(crate) fn observers(&self) -> Observers {
        let metrics = self.meters.as_ref().map(Meters::coordinator).unwrap_or_default();
        Observers { metrics, traces: self.traces() }
    }

    /// Serves `--metrics-listen` from now on.
    pub(crate) fn serve(&mut self, health: Health) -> anyhow::Result<()> {
        let Some((listener, page)) = self.page.take() else { return Ok(()) };
        let address = listener.local_addr().context("failed to read the address of --metrics-listen")?;
        say(&format!("metrics on http://{address}/metrics"));
        tokio::spawn(endpoint::serve(listener, page, health));
        Ok(())
    }

    /// The health of a process that plays trials.
    pub(crate) fn health_of_worker(&self) -> Health {
        let worker = self.worker();
        Health::new(move || {
            let connected = worker.is_connected();
            async move { if connected { Ok(()) } else { Err("not connected to a coordinator".to_owned()) } }
        })
    }

    /// Sends the remaining telemetry, within two seconds.
    pub(crate) async fn end(self) {
        self.telemetry.shutdown().await;
    }
}

/// The host and the process.
pub(crate) fn instance() -> String {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host = match host.trim() {
        "" => "worker",
        host => host,
    };
    format!("{host}-{}", std::process::id())
}
