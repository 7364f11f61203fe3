//! The OTLP target of one signal: `OTEL_EXPORTER_OTLP_*`. The signal's own variables take precedence.

use std::{path::PathBuf, time::Duration};

use opentelemetry_otlp::{Compression, Protocol};

use super::{
    Error,
    variables::{self, Variables},
};

/// The specification's default.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The address, with the signal's path for HTTP.
    pub endpoint: String,
    pub protocol: Protocol,
    /// The timeout of one try of a message.
    pub timeout: Duration,
    pub compression: Option<Compression>,
    pub tls: Tls,
}

/// PEM files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// Certificates to trust in addition to the system's.
    pub certificate: Option<PathBuf>,
    /// The client's certificate and key; both or neither.
    pub client_certificate: Option<PathBuf>,
    pub client_key: Option<PathBuf>,
}

/// `signal` is `TRACES`, `METRICS` or `LOGS`. It is on if its exporter is `otlp`, or if it has an address and its
/// exporter is not `none`.
pub(super) fn read(variables: &Variables<'_>, signal: &str) -> Result<Option<Target>, Error> {
    let own_name = |what: &str| format!("OTEL_EXPORTER_OTLP_{signal}_{what}");
    let any_name = |what: &str| format!("OTEL_EXPORTER_OTLP_{what}");
    let own_address = variables.text(&own_name("ENDPOINT"))?;
    let any_address = variables.text(&any_name("ENDPOINT"))?;
    let is_wanted = is_wanted(variables, &format!("OTEL_{signal}_EXPORTER"))?;
    if !is_wanted.unwrap_or(own_address.is_some() || any_address.is_some()) {
        return Ok(None);
    }
    let either = |what: &str| -> Result<(String, Option<String>), Error> {
        match variables.text(&own_name(what))? {
            Some(text) => Ok((own_name(what), Some(text))),
            None => Ok((any_name(what), variables.text(&any_name(what))?)),
        }
    };
    let protocol = match protocol(variables, &own_name("PROTOCOL"))? {
        Some(own) => own,
        None => protocol(variables, &any_name("PROTOCOL"))?.unwrap_or(Protocol::HttpBinary),
    };
    let compression = match compression(variables, &own_name("COMPRESSION"))? {
        Some(own) => own,
        None => compression(variables, &any_name("COMPRESSION"))?.flatten(),
    };
    let insecure = match variables.flag(&own_name("INSECURE"))? {
        Some(own) => own,
        None => variables.flag(&any_name("INSECURE"))?.unwrap_or(false),
    };
    let scheme = if insecure { "http" } else { "https" };
    let address = |name: &str, text: &str| address(name, text, protocol, scheme);
    let endpoint = match (own_address, any_address) {
        (Some(own), _) => address(&own_name("ENDPOINT"), &own)?,
        (None, Some(any)) => {
            let base = address(&any_name("ENDPOINT"), &any)?;
            if protocol == Protocol::Grpc { base } else { with_path(&base, signal) }
        }
        (None, None) if protocol == Protocol::Grpc => "http://localhost:4317".to_owned(),
        (None, None) => with_path("http://localhost:4318", signal),
    };
    for name in [own_name("HEADERS"), any_name("HEADERS")] {
        // The exporter reads them itself, but the redactor must know their values.
        for (_, value) in variables.secret_pairs(&name)? {
            redact::register(&value);
            if let Some((_, credentials)) = value.split_once(' ') {
                redact::register(credentials);
            }
        }
    }
    let timeout = match variables.millis(&own_name("TIMEOUT"))? {
        Some(own) => own,
        None => variables.millis(&any_name("TIMEOUT"))?.unwrap_or(TIMEOUT),
    };
    let file = |what: &str| -> Result<Option<PathBuf>, Error> { Ok(either(what)?.1.map(PathBuf::from)) };
    let tls = Tls {
        certificate: file("CERTIFICATE")?,
        client_certificate: file("CLIENT_CERTIFICATE")?,
        client_key: file("CLIENT_KEY")?,
    };
    if tls.client_certificate.is_some() != tls.client_key.is_some() {
        let (given, missing) = if tls.client_key.is_some() {
            ("CLIENT_KEY", "CLIENT_CERTIFICATE")
        } else {
            ("CLIENT_CERTIFICATE", "CLIENT_KEY")
        };
        let (name, value) = either(given)?;
        return Err(Error::value(&name, &value.unwrap_or_default(), format!("{} beside it", any_name(missing))));
    }
    Ok(Some(Target { endpoint, protocol, timeout, compression, tls }))
}

/// Whether a variable's list of exporters contains `otlp`.
fn is_wanted(variables: &Variables<'_>, name: &str) -> Result<Option<bool>, Error> {
    let Some(text) = variables.text(name)? else { return Ok(None) };
    let exporters: Vec<&str> = text.split(',').map(str::trim).collect();
    if exporters.iter().any(|one| !["otlp", "none"].contains(one)) {
        variables.warn(Error::value(name, &text, "otlp or none"));
    }
    Ok(Some(exporters.contains(&"otlp")))
}

fn protocol(variables: &Variables<'_>, name: &str) -> Result<Option<Protocol>, Error> {
    variables.word(name, "grpc, http/protobuf or http/json", |word| match word {
        "grpc" => Some(Protocol::Grpc),
        "http/protobuf" => Some(Protocol::HttpBinary),
        "http/json" => Some(Protocol::HttpJson),
        _ => None,
    })
}

fn compression(variables: &Variables<'_>, name: &str) -> Result<Option<Option<Compression>>, Error> {
    variables.word(name, "gzip or none", |word| match word {
        "none" => Some(None),
        "gzip" => Some(Some(Compression::Gzip)),
        _ => None,
    })
}

/// A gRPC address can lack a scheme; then it gets `scheme`.
fn address(name: &str, text: &str, protocol: Protocol, scheme: &str) -> Result<String, Error> {
    if text.contains('@') {
        let expected = "an address without a name and a password: those go into OTEL_EXPORTER_OTLP_HEADERS";
        return Err(Error::Secret { variable: name.to_owned(), expected: expected.to_owned() });
    }
    hide_query(text);
    let whole = match text.split_once("://") {
        None if protocol == Protocol::Grpc => format!("{scheme}://{text}"),
        _ => text.to_owned(),
    };
    let uri: Option<http::Uri> = whole.parse().ok();
    let fits = uri.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    });
    if fits { Ok(whole) } else { Err(Error::value(name, text, "an address such as http://localhost:4318")) }
}

/// Some collectors accept a key in the query, so the redactor learns its values.
fn hide_query(address: &str) {
    let Some((_, query)) = address.split_once('?') else { return };
    for value in query.split(['&', '#']).map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value)) {
        redact::register(value);
        redact::register(&variables::decode(value));
    }
}

/// Inserts the path before the query, if there is one.
fn with_path(base: &str, signal: &str) -> String {
    let (path, query) = base.find('?').map_or((base, ""), |at| base.split_at(at));
    format!("{}/v1/{}{query}", path.trim_end_matches('/'), signal.to_ascii_lowercase())
}
