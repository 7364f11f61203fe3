//! The telemetry of this process, where an `OTEL_*` variable asks for it: started with a role, ended with it.

use anyhow::Context as _;
use telemetry::{
    Traces,
    otel::{Config, Service, Telemetry},
};

use crate::exit::usage;

pub(crate) struct Observed {
    telemetry: Telemetry,
}

impl Observed {
    /// `name` is the role's, `instance` tells this process from others of its role. After the environment file was read.
    pub(crate) fn start(name: &str, instance: &str) -> anyhow::Result<Self> {
        let config = Config::from_env().context("failed to set up telemetry").map_err(usage)?;
        let service = Service { name, version: env!("CARGO_PKG_VERSION"), instance };
        let telemetry = Telemetry::start(&config, service).context("failed to set up telemetry").map_err(usage)?;
        Ok(Self { telemetry })
    }

    pub(crate) fn traces(&self) -> Traces {
        self.telemetry.traces()
    }

    /// Sends what waits, within two seconds.
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
