//! The log on stderr: `-v` or `GABFEST_LOG` selects the level, and the redactor removes keys.

mod exported;
mod redacting;

use std::{backtrace::Backtrace, backtrace::BacktraceStatus, env, io, io::Write as _, panic};

use tracing_subscriber::{
    EnvFilter, Layer as _, fmt::MakeWriter, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use redact::redact;

use self::redacting::{Form, Redacting};

pub(crate) use exported::{begin as export, end as export_no_more};

/// Overrides the verbosity: `debug`, `worker=trace,sqlx=info`, …
const VARIABLE: &str = "GABFEST_LOG";

/// The level and format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// 0 warns, 1 informs, 2 debugs, 3 and more trace.
    pub verbosity: u8,
    /// With a verbosity of 0, only errors.
    pub quiet: bool,
    /// One JSON object per line.
    pub json: bool,
    /// Colours, for a terminal.
    pub color: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("read {VARIABLE}={value:?}: {message}")]
    Filter { value: String, message: String },
    /// The log can be set up only once per process.
    #[error("set up logs: {0}")]
    Installed(String),
}

/// Starts the log on stderr. Panics are logged too, and also redacted.
pub fn init(config: Config) -> Result<(), Error> {
    let written = env::var(VARIABLE).ok().filter(|value| !value.trim().is_empty());
    let errors_alone = (config.quiet && config.verbosity == 0).then(|| "error".to_owned());
    let filter = filter(config.verbosity, written.or(errors_alone).as_deref())?;
    let writer = Redacted(io::stderr, form(config.json, config.color));
    let lines = tracing_subscriber::fmt::layer().with_ansi(config.color).with_writer(writer);
    let lines = if config.json { lines.json().boxed() } else { lines.boxed() };
    let subscriber = tracing_subscriber::registry().with(exported::layer()).with(lines.with_filter(filter));
    let installed = subscriber.try_init();
    installed.map_err(|error| Error::Installed(error.to_string()))?;
    guard_panics();
    Ok(())
}

/// Creates writers that redact each event before it reaches `inner`.
#[derive(Debug, Clone)]
pub struct Redacted<M>(pub M, pub Form);

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Redacted<M> {
    type Writer = Redacting<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Redacting::new(self.0.make_writer(), self.1)
    }
}

fn form(json: bool, color: bool) -> Form {
    match (json, color) {
        (true, _) => Form::Json,
        (false, true) => Form::Painted,
        (false, false) => Form::Text,
    }
}

fn filter(verbosity: u8, written: Option<&str>) -> Result<EnvFilter, Error> {
    if let Some(value) = written.filter(|value| !value.trim().is_empty()) {
        let failed = |error: tracing_subscriber::filter::ParseError| Error::Filter {
            value: value.to_owned(),
            message: error.to_string(),
        };
        let filter = EnvFilter::try_new(value).map_err(failed)?;
        return Ok(if value.contains("opentelemetry") { filter } else { without_exporters(filter) });
    }
    // One or two `v` do not enable logs of libraries.
    let directives = match verbosity {
        0 => "warn",
        1 => "info,h2=warn,hyper=warn,sqlx=warn,tonic=warn,tower=warn",
        2 => "debug,h2=info,hyper=info,hyper_util=info,rustls=info,sqlx=info,tonic=info,tower=info",
        _ => "trace",
    };
    EnvFilter::try_new(directives)
        .map(without_exporters)
        .map_err(|error| Error::Filter { value: directives.to_owned(), message: error.to_string() })
}

/// The OpenTelemetry libraries log every failed message; [`crate::otel`] logs a failure once.
fn without_exporters(filter: EnvFilter) -> EnvFilter {
    filter.add_directive("opentelemetry=off".parse().expect("the directive is fixed, and a test parses it"))
}

/// A panic message can contain anything, so it is redacted too.
fn guard_panics() {
    panic::set_hook(Box::new(|info| {
        let backtrace = Backtrace::capture();
        let mut text = format!("{info}\n");
        if backtrace.status() == BacktraceStatus::Captured {
            text.push_str(&format!("{backtrace}\n"));
        }
        // If stderr is closed, nobody can read the error.
        drop(io::stderr().write_all(record::visible::text(&redact(&text)).as_bytes()));
    }));
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use redact::register;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(json: bool, color: bool, event: impl FnOnce()) -> String {
        let page = Page::default();
        let writer = page.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(filter(0, None).unwrap())
            .with_ansi(color)
            .with_writer(Redacted(move || writer.clone(), form(json, color)));
        if json {
            tracing::subscriber::with_default(subscriber.json().finish(), event);
        } else {
            tracing::subscriber::with_default(subscriber.finish(), event);
        }
        let bytes = page.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn no_log_line_shows_a_key() {
        let secret = "line-one \"quoted\" hunter2hunter2";
        assert!(register(secret));
        for (json, color) in [(false, false), (false, true), (true, false)] {
            let text = logged(json, color, || {
                tracing::warn!(key = secret, debug = ?secret, "asked with {secret} and sk-abcdefghijklmnop1234");
            });
            assert!(text.contains("[redacted]"), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
            assert!(!text.contains("abcdefghijklmnop1234"), "{text}");
            assert!(text.contains("asked with"), "{text}");
        }
    }

    #[test]
    fn no_log_line_steers_a_terminal() {
        let name = "\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\u{2066}x";
        for (json, expected) in [(false, "\\u{202e}\\u{2066}x"), (true, "\\u009b31m\\u202e\\u2066x")] {
            let text = logged(json, false, || tracing::warn!(name, "worker {name} is lost"));
            let steering: Vec<char> =
                text.chars().filter(|&found| record::visible::steers(found) && found != '\n').collect();
            assert!(steering.is_empty(), "{steering:?} in {text}");
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn warnings_are_logged_and_lower_levels_only_on_request() {
        let text = logged(false, false, || {
            tracing::info!("quiet");
            tracing::warn!("loud");
        });
        assert!(text.contains("loud") && !text.contains("quiet"), "{text}");
        for (verbosity, written, expected) in [
            (0, None, "warn"),
            (1, Some(""), "info"),
            (3, None, "trace"),
            (3, Some("error"), "error"),
            (0, Some("worker=debug"), "worker=debug"),
        ] {
            let shown = filter(verbosity, written).unwrap().to_string();
            assert!(shown.contains(expected), "{verbosity} {written:?}: {shown}");
        }
        let error = filter(0, Some("worker=loudest")).unwrap_err().to_string();
        assert!(error.starts_with("read GABFEST_LOG=\"worker=loudest\": "), "{error}");
    }
}
