//! Connects to a collector by gRPC or HTTP, with TLS files from variables, and explains failures.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{
    ExporterBuildError, WithExportConfig, WithHttpConfig, WithTonicConfig,
    tonic_types::transport::{Certificate, ClientTlsConfig, Identity},
};

use super::{
    config::{Target, Tls},
    error::Error,
};

/// The reason why the last request failed. The SDK reports only "network error".
#[derive(Debug, Clone, Default)]
pub(super) struct Cause(Arc<Mutex<Option<String>>>);

impl Cause {
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
}

impl From<ExporterBuildError> for Error {
    fn from(error: ExporterBuildError) -> Self {
        Self::Exporter(redact::redact(&error.to_string()).into_owned())
    }
}

pub(super) fn grpc<B: WithExportConfig + WithTonicConfig>(builder: B, target: &Target) -> Result<B, Error> {
    let mut builder = builder.with_endpoint(target.endpoint.as_str()).with_timeout(target.timeout);
    if let Some(compression) = target.compression {
        builder = builder.with_compression(compression);
    }
    if target.endpoint.starts_with("http://") {
        return Ok(builder);
    }
    let mut tls = ClientTlsConfig::new().with_enabled_roots();
    if let Some(path) = &target.tls.certificate {
        authorities(path)?;
        tls = tls.ca_certificate(Certificate::from_pem(read(path)?));
    }
    if let Some((certificate, key)) = client_files(&target.tls) {
        identity(certificate, key)?;
        tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    Ok(builder.with_tls_config(tls))
}

pub(super) fn http<B: WithExportConfig + WithHttpConfig>(
    builder: B,
    target: &Target,
    cause: &Cause,
) -> Result<B, Error> {
    let mut builder = builder
        .with_endpoint(target.endpoint.as_str())
        .with_timeout(target.timeout)
        .with_protocol(target.protocol)
        .with_http_client(Client { inner: client(target)?, cause: cause.clone() });
    if let Some(compression) = target.compression {
        builder = builder.with_compression(compression);
    }
    Ok(builder)
}

/// Ignores proxies of the environment, as everywhere in gabfest.
fn client(target: &Target) -> Result<reqwest::Client, Error> {
    let mut client = reqwest::Client::builder().no_proxy().timeout(target.timeout);
    if let Some(path) = &target.tls.certificate {
        client = client.tls_certs_merge(authorities(path)?);
    }
    if let Some((certificate, key)) = client_files(&target.tls) {
        client = client.identity(identity(certificate, key)?);
    }
    client.build().map_err(|error| Error::Exporter(whole(&error)))
}

/// An HTTP client that remembers the reason of its last failure.
#[derive(Debug)]
struct Client {
    inner: reqwest::Client,
    cause: Cause,
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        self.inner.send_bytes(request).await.map_err(|error| match error.downcast::<reqwest::Error>() {
            Ok(error) => {
                // An address can contain a password.
                let error = error.without_url();
                self.cause.keep(whole(&error));
                error.into()
            }
            Err(other) => other,
        })
    }
}

fn client_files(tls: &Tls) -> Option<(&Path, &Path)> {
    tls.client_certificate.as_deref().zip(tls.client_key.as_deref())
}

/// A file without a certificate is an error: the user wanted to trust one.
fn authorities(path: &Path) -> Result<Vec<reqwest::Certificate>, Error> {
    let found = reqwest::Certificate::from_pem_bundle(&read(path)?).unwrap_or_default();
    if found.is_empty() { Err(Error::NoCertificate { path: path.to_owned() }) } else { Ok(found) }
}

fn identity(certificate: &Path, key: &Path) -> Result<reqwest::Identity, Error> {
    let pem = [read(key)?, b"\n".to_vec(), read(certificate)?].concat();
    let wrong = |_| Error::NoIdentity { certificate: certificate.to_owned(), key: key.to_owned() };
    reqwest::Identity::from_pem(&pem).map_err(wrong)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error::File { path: path.to_owned(), error })
}

/// An error with its causes, without repetitions.
fn whole(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_files_are_reported_by_name() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let error = authorities(path).unwrap_err().to_string();
        assert!(error.ends_with("/Cargo.toml: expected certificates in PEM"), "{error}");
        let error = identity(path, path).unwrap_err().to_string();
        assert!(error.ends_with("/Cargo.toml: expected a certificate and its private key in PEM"), "{error}");
        assert!(matches!(authorities(Path::new("/nowhere")), Err(Error::File { .. })));
    }
}
