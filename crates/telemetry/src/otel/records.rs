//! Exports log records: bounded, in batches, without blocking.

use std::time::Duration;

use opentelemetry::{InstrumentationScope, logs::Severity};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    logs::{BatchConfigBuilder, BatchLogProcessor, LogProcessor, SdkLogRecord},
};

use super::{config::Batch, exporter::LogExporter, queue::Queue};

#[derive(Debug)]
pub(super) struct Records {
    processor: BatchLogProcessor,
    queue: Queue,
}

impl Records {
    pub(super) fn new(exporter: LogExporter, batch: Batch, queue: Queue) -> Self {
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(batch.queue + batch.size)
            .with_max_export_batch_size(batch.size)
            .with_scheduled_delay(batch.delay)
            .build();
        Self { processor: BatchLogProcessor::builder(exporter).with_batch_config(config).build(), queue }
    }
}

impl LogProcessor for Records {
    fn emit(&self, record: &mut SdkLogRecord, scope: &InstrumentationScope) {
        if self.queue.admits(1, true) == 1 {
            self.processor.emit(record, scope);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.processor.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.processor.shutdown_with_timeout(timeout)
    }

    fn event_enabled(&self, level: Severity, target: &str, name: Option<&str>) -> bool {
        self.processor.event_enabled(level, target, name)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.processor.set_resource(resource);
    }
}
