//! Redacts every text of a log record.

use std::{borrow::Cow, time::SystemTime};

use opentelemetry::{
    InstrumentationScope, Key, SpanId, TraceFlags, TraceId,
    logs::{AnyValue, LogRecord, Logger, LoggerProvider, Severity},
};
use opentelemetry_sdk::logs::{SdkLogRecord, SdkLogger, SdkLoggerProvider};

#[derive(Debug, Clone)]
pub(crate) struct CleanProvider(pub(crate) SdkLoggerProvider);

#[derive(Debug)]
pub(crate) struct CleanLogger(SdkLogger);

#[derive(Debug)]
pub(crate) struct CleanRecord(SdkLogRecord);

impl LoggerProvider for CleanProvider {
    type Logger = CleanLogger;

    fn logger_with_scope(&self, scope: InstrumentationScope) -> CleanLogger {
        CleanLogger(self.0.logger_with_scope(scope))
    }
}

impl Logger for CleanLogger {
    type LogRecord = CleanRecord;

    fn create_log_record(&self) -> CleanRecord {
        CleanRecord(self.0.create_log_record())
    }

    fn emit(&self, record: CleanRecord) {
        self.0.emit(record.0);
    }

    fn event_enabled(&self, level: Severity, target: &str, name: Option<&str>) -> bool {
        self.0.event_enabled(level, target, name)
    }
}

impl LogRecord for CleanRecord {
    fn set_event_name(&mut self, name: &'static str) {
        self.0.set_event_name(name);
    }

    fn set_target<T: Into<Cow<'static, str>>>(&mut self, target: T) {
        self.0.set_target(target);
    }

    fn set_timestamp(&mut self, timestamp: SystemTime) {
        self.0.set_timestamp(timestamp);
    }

    fn set_observed_timestamp(&mut self, timestamp: SystemTime) {
        self.0.set_observed_timestamp(timestamp);
    }

    fn set_severity_text(&mut self, text: &'static str) {
        self.0.set_severity_text(text);
    }

    fn set_severity_number(&mut self, number: Severity) {
        self.0.set_severity_number(number);
    }

    fn set_body(&mut self, body: AnyValue) {
        self.0.set_body(clean(body));
    }

    fn add_attributes<I, K, V>(&mut self, attributes: I)
    where
        I: IntoIterator<Item = (K, V)>,
        K: Into<Key>,
        V: Into<AnyValue>,
    {
        for (key, value) in attributes {
            self.add_attribute(key, value);
        }
    }

    fn add_attribute<K, V>(&mut self, key: K, value: V)
    where
        K: Into<Key>,
        V: Into<AnyValue>,
    {
        self.0.add_attribute(key, clean(value.into()));
    }

    fn set_trace_context(&mut self, trace_id: TraceId, span_id: SpanId, trace_flags: Option<TraceFlags>) {
        self.0.set_trace_context(trace_id, span_id, trace_flags);
    }
}

fn clean(value: AnyValue) -> AnyValue {
    match &value {
        AnyValue::String(text) => match redact::redact(text.as_str()) {
            Cow::Owned(clean) => clean.into(),
            Cow::Borrowed(_) => value,
        },
        AnyValue::Bytes(bytes) => match redact::redact(&String::from_utf8_lossy(bytes)) {
            Cow::Owned(clean) => clean.into(),
            Cow::Borrowed(_) => value,
        },
        AnyValue::ListAny(items) => AnyValue::ListAny(Box::new(items.iter().cloned().map(clean).collect())),
        AnyValue::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| (key.clone(), clean(value.clone())));
            AnyValue::Map(Box::new(entries.collect()))
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_of_value_carries_a_key() {
        let key = "sk-abcdefghijklmnopqrstuv";
        let list = AnyValue::ListAny(Box::new(vec![AnyValue::from(key), AnyValue::from(1)]));
        let map = AnyValue::Map(Box::new([(Key::new("k"), list.clone())].into_iter().collect()));
        for value in [AnyValue::from(key), AnyValue::from(key.as_bytes()), list, map] {
            let shown = format!("{:?}", clean(value.clone()));
            assert!(shown.contains("[redacted]") && !shown.contains("abcdefgh"), "{shown}");
        }
        assert_eq!(clean(AnyValue::from(true)), AnyValue::from(true));
        assert_eq!(clean(AnyValue::from("plain")), AnyValue::from("plain"));
    }
}
