//! The telemetry of a process: starts once, and stops within a bounded time.

use std::{sync::Arc, time::Duration};

use opentelemetry_sdk::{Resource, logs::SdkLoggerProvider, metrics::SdkMeterProvider};
use tokio::{runtime::Handle, sync::watch};

use crate::Traces;

use super::{
    Config, Dropped, MetricExporter, Service,
    clean::CleanProvider,
    connection::Cause,
    error::Error,
    exporter::{LogExporter, SpanExporter},
    records::Records,
    resource::resource,
    spans::Spans,
    watch::{Health, Signal, Watch},
};

/// The time to send the remaining items at the end of the process.
const LAST_WORDS: Duration = Duration::from_millis(1_500);
/// The time after which the process ends even if something hangs.
const LONGEST_END: Duration = Duration::from_millis(1_900);

/// [`Telemetry::shutdown`] sends the queued items; without it they are lost.
#[derive(Debug)]
pub struct Telemetry {
    resource: Resource,
    dropped: Arc<Dropped>,
    spans: Option<Arc<Spans>>,
    records: Option<SdkLoggerProvider>,
    metrics: Option<MetricExporter>,
    config: Config,
    meters: Option<SdkMeterProvider>,
    over: watch::Sender<bool>,
}

impl Telemetry {
    /// Needs a runtime for sending. Disabled signals cost nothing.
    pub fn start(config: &Config, service: Service<'_>) -> Result<Self, Error> {
        let (over, is_over) = watch::channel(false);
        let health = Arc::new(Health::default());
        let watch = |signal, limit| Watch {
            signal,
            health: Arc::clone(&health),
            limit,
            runtime: Handle::current(),
            over: is_over.clone(),
            cause: Cause::default(),
        };
        let resource = resource(config, service);
        let dropped = Arc::new(Dropped::default());
        let spans = match &config.traces {
            None => None,
            Some(target) => {
                let queue = dropped.queue_of_spans(config.spans.queue);
                let watch = watch(Signal::Traces, config.spans.timeout);
                let exporter = SpanExporter::new(target, watch, queue.clone())?;
                Some(Arc::new(Spans::new(exporter, config.spans, queue, &resource)))
            }
        };
        let records = match &config.logs {
            None => None,
            Some(target) => {
                let queue = dropped.queue_of_logs(config.records.queue);
                let watch = watch(Signal::Logs, config.records.timeout);
                let exporter = LogExporter::new(target, watch, queue.clone())?;
                let records = Records::new(exporter, config.records, queue);
                Some(SdkLoggerProvider::builder().with_resource(resource.clone()).with_log_processor(records).build())
            }
        };
        let metrics = match &config.metrics {
            None => None,
            Some(target) => {
                let watch = watch(Signal::Metrics, config.metric_timeout);
                Some(MetricExporter::new(target, config.temporality, watch)?)
            }
        };
        if let Some(records) = &records {
            crate::logs::export(records);
        }
        let config = config.clone();
        Ok(Self { resource, dropped, spans, records, metrics, config, meters: None, over })
    }

    /// The resource attributes, for metrics.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The exporter for the only metric reader; `None` if metrics are off or it was taken.
    pub fn metric_exporter(&mut self) -> Option<MetricExporter> {
        self.metrics.take()
    }

    #[must_use]
    pub fn metric_interval(&self) -> Duration {
        self.config.metric_interval
    }

    /// Registers a meter provider, which shuts down with the rest after a last export.
    pub fn keep(&mut self, meters: SdkMeterProvider) {
        self.meters = Some(meters);
    }

    #[must_use]
    pub fn dropped(&self) -> Arc<Dropped> {
        Arc::clone(&self.dropped)
    }

    /// The handle for finished trials and runs.
    #[must_use]
    pub fn traces(&self) -> Traces {
        Traces::new(&self.config, self.spans.clone(), self.records.clone().map(CleanProvider))
    }

    /// Sends the queued items and stops. A hanging collector delays this by at most two seconds.
    pub async fn shutdown(self) {
        let Self { spans, records, meters, over, .. } = self;
        if spans.is_none() && records.is_none() && meters.is_none() {
            return;
        }
        crate::logs::export_no_more();
        let soon_over = tokio::spawn(async move {
            tokio::time::sleep(LAST_WORDS).await;
            over.send_replace(true);
            // Receivers wait for it, so it must outlive them.
            over.closed().await;
        });
        let ended = tokio::task::spawn_blocking(move || {
            // Each blocks on a thread of the SDK, so each gets its own thread.
            std::thread::scope(|scope| {
                scope.spawn(|| spans.inspect(|spans| spans.shutdown(LONGEST_END)));
                scope.spawn(|| records.inspect(|records| drop(records.shutdown_with_timeout(LONGEST_END))));
                scope.spawn(|| meters.inspect(|meters| drop(meters.shutdown_with_timeout(LONGEST_END))));
            });
        });
        let _ = tokio::time::timeout(LONGEST_END, ended).await;
        soon_over.abort();
    }
}
