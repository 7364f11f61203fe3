//! Observers of runs, metrics and traces: they see what is stored, and change nothing.

/// All are off by default.
#[derive(Debug, Clone, Default)]
pub struct Observers {
    pub metrics: telemetry::metrics::Coordinator,
    pub traces: telemetry::Traces,
}

impl Observers {
    /// Whether the numbers of an ended run are wanted: they take a moment to compute.
    pub(crate) fn want_summaries(&self) -> bool {
        self.metrics.is_on() || self.traces.is_on()
    }
}
