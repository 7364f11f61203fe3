//! A judgment as the conventions' event: a log record with the evaluated span's context, and an event of that span.

use opentelemetry::{
    KeyValue, SpanId, TraceFlags, TraceId,
    logs::{AnyValue, LogRecord as _, Logger as _, Severity},
    trace::Event,
};
use record::{Finding, Judgment, Scope};

use super::{
    ids,
    span::{at, integer},
    texts::Texts,
};
use crate::{names, otel::clean::CleanLogger};

/// The span of a judgment.
pub(super) fn span_of(judgment: &Judgment, trace: u128) -> u64 {
    match judgment.scope {
        Scope::Turn { turn, .. } => ids::turn_span(trace, turn),
        Scope::Conversation { .. } | Scope::Step { .. } => ids::trial_span(trace),
    }
}

pub(super) fn event(judgment: &Judgment, at_micros: u64, texts: &Texts) -> Event {
    Event::new(names::EVALUATION, at(at_micros), attributes(judgment, texts), 0)
}

/// The same as a log record.
pub(super) fn record(judgment: &Judgment, trace: u128, at_micros: u64, logger: &CleanLogger, texts: &Texts) {
    let mut record = logger.create_log_record();
    record.set_event_name(names::EVALUATION);
    record.set_timestamp(at(at_micros));
    record.set_severity_number(Severity::Info);
    record.set_severity_text("INFO");
    let span = span_of(judgment, trace);
    record.set_trace_context(TraceId::from(trace), SpanId::from(span), Some(TraceFlags::SAMPLED));
    for attribute in attributes(judgment, texts) {
        record.add_attribute(attribute.key, any(attribute.value));
    }
    logger.emit(record);
}

fn attributes(judgment: &Judgment, texts: &Texts) -> Vec<KeyValue> {
    let description = judgment.description.as_deref();
    let name = judgment.name.as_deref().or(description).unwrap_or(&judgment.check);
    let mut attributes = vec![
        texts.name(names::EVALUATION_NAME, name),
        KeyValue::new(names::EVALUATION_LABEL, judgment.finding.name()),
        texts.name(names::CHECK, &judgment.check),
        KeyValue::new(names::CHECK_REQUIRED, judgment.required),
        KeyValue::new(names::STEP, i64::from(judgment.scope.step())),
    ];
    attributes.extend(description.map(|description| texts.name(names::CHECK_DESCRIPTION, description)));
    if let Some(score) = judgment.score {
        attributes.push(KeyValue::new(names::EVALUATION_SCORE, score));
    }
    if !judgment.reason.is_empty() {
        attributes.push(texts.short(names::EVALUATION_EXPLANATION, &judgment.reason));
    }
    if judgment.line > 0 {
        attributes.push(KeyValue::new(names::CHECK_LINE, integer(judgment.line.into())));
    }
    if judgment.finding == Finding::Error {
        let kind = judgment.failure.map_or("_OTHER", record::FailureKind::name);
        attributes.push(KeyValue::new(names::ERROR_TYPE, kind));
    }
    attributes
}

fn any(value: opentelemetry::Value) -> AnyValue {
    match value {
        opentelemetry::Value::Bool(value) => value.into(),
        opentelemetry::Value::I64(value) => value.into(),
        opentelemetry::Value::F64(value) => value.into(),
        opentelemetry::Value::String(value) => value.into(),
        other => other.as_str().into_owned().into(),
    }
}
