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

/// What is left may be sent for so long when the process ends.
const LAST_WORDS: Duration = Duration::from_millis(1_500);
/// And then nobody waits any more, whatever hangs.
const LONGEST_END: Duration = Duration::from_millis(1_900);

/// Ends by [`Telemetry::shutdown`], which sends what waits. Without one it is lost.
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
    /// Needs a runtime, which then sends. What the configuration leaves out costs nothing.
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

    /// The attributes that metrics share with everything else.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// For the one reader that sends metrics; `None` where nobody wants them, or where it was taken.
    pub fn metric_exporter(&mut self) -> Option<MetricExporter> {
        self.metrics.take()
    }

    #[must_use]
    pub fn metric_interval(&self) -> Duration {
        self.config.metric_interval
    }

    /// Ends with everything else, after a last export.
    pub fn keep(&mut self, meters: SdkMeterProvider) {
        self.meters = Some(meters);
    }

    #[must_use]
    pub fn dropped(&self) -> Arc<Dropped> {
        Arc::clone(&self.dropped)
    }

    /// Where finished trials and runs are given to be exported.
    #[must_use]
    pub fn traces(&self) -> Traces {
        Traces::new(&self.config, self.spans.clone(), self.records.clone().map(CleanProvider))
    }

    /// Sends what waits and ends. A collector that hangs delays this by two seconds at most.
    pub async fn shutdown(self) {
        let Self { spans, records, meters, over, .. } = self;
        if spans.is_none() && records.is_none() && meters.is_none() {
            return;
        }
        crate::logs::export_no_more();
        let soon_over = tokio::spawn(async move {
            tokio::time::sleep(LAST_WORDS).await;
            over.send_replace(true);
            // Those who wait for it hold receivers; it must outlive them.
            over.closed().await;
        });
        let ended = tokio::task::spawn_blocking(move || {
            // Each waits for a thread of the SDK, so each waits in one of its own.
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
