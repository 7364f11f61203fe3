//! Exports finished spans: bounded, in batches, without blocking.

use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanProcessor as _},
};

use super::{config::Batch, exporter::SpanExporter, queue::Queue};

#[derive(Debug)]
pub struct Spans {
    processor: BatchSpanProcessor,
    queue: Queue,
}

impl Spans {
    pub(super) fn new(exporter: SpanExporter, batch: Batch, queue: Queue, resource: &Resource) -> Self {
        let config = BatchConfigBuilder::default()
            // Items being sent no longer count as queued here, but they do in the SDK.
            .with_max_queue_size(batch.queue + batch.size)
            .with_max_export_batch_size(batch.size)
            .with_scheduled_delay(batch.delay)
            .build();
        let mut processor = BatchSpanProcessor::builder(exporter).with_batch_config(config).build();
        processor.set_resource(resource);
        Self { processor, queue }
    }

    /// Exports the `count` spans of a trace, or none of them if there is no room for all: dropped spans are counted and
    /// not even built. Spans that are not `urgent` leave a part of the queue free.
    pub fn export(&self, count: usize, urgent: bool, spans: impl Iterator<Item = SpanData>) {
        let admitted = self.queue.admits(count, urgent);
        spans.take(admitted).for_each(|span| self.processor.on_end(span));
    }

    pub(super) fn shutdown(&self, within: std::time::Duration) {
        // A failure was logged when it happened.
        let _ = self.processor.shutdown_with_timeout(within);
    }
}
