//! How many spans or log records wait, and how they are sent together: `OTEL_BSP_*` and `OTEL_BLRP_*`.

use std::time::Duration;

use super::{Error, variables::Variables};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// The queue size. More items are dropped and counted.
    pub queue: usize,
    /// The maximum number of items in a message.
    pub size: usize,
    /// The interval between two messages, unless a batch is full earlier.
    pub delay: Duration,
    /// The timeout of one message.
    pub timeout: Duration,
}

impl Batch {
    /// The defaults of the specification.
    pub(super) const OF_SPANS: Self =
        Self { queue: 2_048, size: 512, delay: Duration::from_millis(5_000), timeout: Duration::from_millis(30_000) };
    pub(super) const OF_RECORDS: Self = Self { delay: Duration::from_millis(1_000), ..Self::OF_SPANS };
}

pub(super) fn read(variables: &Variables<'_>, kind: &str, usual: Batch) -> Result<Batch, Error> {
    let name = |what: &str| format!("OTEL_{kind}_{what}");
    let queue = variables.count(&name("MAX_QUEUE_SIZE"), 1)?.unwrap_or(usual.queue);
    let size = match variables.count(&name("MAX_EXPORT_BATCH_SIZE"), 1)? {
        Some(size) if size > queue => {
            let expected = format!("no more than {} ({queue})", name("MAX_QUEUE_SIZE"));
            variables.warn(Error::value(&name("MAX_EXPORT_BATCH_SIZE"), &size.to_string(), expected));
            usual.size.min(queue)
        }
        size => size.unwrap_or_else(|| usual.size.min(queue)),
    };
    Ok(Batch {
        queue,
        size,
        delay: variables.millis(&name("SCHEDULE_DELAY"))?.unwrap_or(usual.delay),
        timeout: variables.millis(&name("EXPORT_TIMEOUT"))?.unwrap_or(usual.timeout),
    })
}
