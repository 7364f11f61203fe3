//! Downloads the files of a model over HTTP.

use std::time::Duration;

use reqwest::{Client, Url, redirect};

use super::{
    error::Error,
    sink::{Checked, Sink},
};

/// The limit for connecting and between two pieces of a file; a whole file may take any time.
const PATIENCE: Duration = Duration::from_secs(30);
/// Hubs redirect to the storage of their files.
const MOST_REDIRECTS: usize = 5;

/// The file `name` below `base`.
pub(super) async fn file(base: &Url, name: &'static str, sink: Sink) -> Result<Checked, Error> {
    let mut url = base.clone();
    url.set_path(&format!("{}/{name}", base.path().trim_end_matches('/')));
    whole(&url, sink).await
}

pub(super) async fn whole(url: &Url, mut sink: Sink) -> Result<Checked, Error> {
    // Addresses of hubs hold no keys and may be shown, but the targets of redirects may hold some: hence `without_url`.
    let failed = |message: String| Error::Download { file: url.to_string(), message };
    let client = Client::builder()
        .user_agent(concat!("gabfest/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(PATIENCE)
        .read_timeout(PATIENCE)
        .redirect(redirect::Policy::limited(MOST_REDIRECTS))
        .build()
        .map_err(|error| failed(chain(error)))?;
    let mut response = client.get(url.clone()).send().await.map_err(|error| failed(chain(error)))?;
    if !response.status().is_success() {
        return Err(failed(format!("the server answers {}", response.status())));
    }
    while let Some(piece) = response.chunk().await.map_err(|error| failed(chain(error)))? {
        sink.write(&piece)?;
    }
    sink.end()
}

/// An error of reqwest with its causes, which its own message leaves out.
fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
