//! Creates OpenTelemetry instruments from the catalogue.

use opentelemetry::metrics::{AsyncInstrument, Counter, Histogram, Meter};

use super::catalogue::{Kind, Metric};

pub(super) fn counter(meter: &Meter, metric: &Metric) -> Counter<u64> {
    meter.u64_counter(metric.name).with_unit(metric.unit).with_description(metric.help).build()
}

pub(super) fn money(meter: &Meter, metric: &Metric) -> Counter<f64> {
    meter.f64_counter(metric.name).with_unit(metric.unit).with_description(metric.help).build()
}

/// With the bounds of the catalogue: Prometheus' exporter leaves out histograms without.
pub(super) fn histogram(meter: &Meter, metric: &Metric) -> Histogram<f64> {
    let Kind::Histogram(bounds) = metric.kind else { unreachable!("the catalogue says that {metric:?} is one") };
    let builder = meter.f64_histogram(metric.name).with_unit(metric.unit).with_description(metric.help);
    builder.with_boundaries(bounds.to_vec()).build()
}

/// A gauge that is read on each scrape. A series that is no longer read disappears.
pub(super) fn gauge(meter: &Meter, metric: &Metric, read: impl Fn(&dyn AsyncInstrument<f64>) + Send + Sync + 'static) {
    let builder = meter.f64_observable_gauge(metric.name).with_unit(metric.unit).with_description(metric.help);
    builder.with_callback(read).build();
}

/// A counter whose value comes from elsewhere.
pub(super) fn counted(
    meter: &Meter,
    metric: &Metric,
    read: impl Fn(&dyn AsyncInstrument<u64>) + Send + Sync + 'static,
) {
    let builder = meter.u64_observable_counter(metric.name).with_unit(metric.unit).with_description(metric.help);
    builder.with_callback(read).build();
}

pub(super) fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
