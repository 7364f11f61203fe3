//! Where an export goes: a folder, or a bucket of S3, Google Cloud Storage or Azure.

use std::{fmt, sync::Arc, time::Duration};

use object_store::{
    ObjectStore, RetryConfig, aws::AmazonS3Builder, azure::MicrosoftAzureBuilder, gcp::GoogleCloudStorageBuilder,
    local::LocalFileSystem, path::Path,
};
use url::Url;

use crate::Error;

/// Environment variables with credentials of places. Their values may be in no text that leaves the process.
pub const SECRETS: [&str; 9] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_CLIENT_SECRET",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_TOKEN",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
];
/// Replaced by the run's id.
const RUN: &str = "{run}";
/// How long a place may fail to answer, with repeated tries.
const PATIENCE: Duration = Duration::from_secs(60);
const TRIES: usize = 6;
const SCHEMES: &str = "a folder, file://, s3://, gs:// or az://";

/// The place of one export. Shown, it has no credentials: it is refused with some.
#[derive(Debug, Clone)]
pub struct Place {
    shown: String,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) prefix: Path,
}

impl Place {
    /// Reads the place of a run's export: a folder, or the address of one in a bucket. `{run}` is the run's id. Credentials
    /// come from the environment, as the tools of each provider read them (`AWS_…`, `GOOGLE_…`, `AZURE_STORAGE_…`), or from
    /// the machine. A folder is created.
    ///
    /// # Errors
    /// [`Error::Place`] if it is no such address, or has credentials.
    pub fn of(text: &str, run: &str) -> Result<Self, Error> {
        let text = text.replace(RUN, run);
        let refused = |reason: &str| Error::Place(format!("{reason}; an export goes to {SCHEMES}"));
        if text.is_empty() {
            return Err(refused("the place of an export is empty"));
        }
        let Some((scheme, _)) = text.split_once("://") else { return Self::folder(&text) };
        // The address is not shown: it may have a key that is written in the wrong place.
        let url = Url::parse(&text).map_err(|error| refused(&format!("the address is not one: {error}")))?;
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(Error::Place(
                "the address of an export has credentials or parameters; set them in the environment (`AWS_SECRET_ACCESS_KEY`, \
                 `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_KEY`), and name the bucket alone"
                    .to_owned(),
            ));
        }
        let retries = RetryConfig { max_retries: TRIES, retry_timeout: PATIENCE, ..RetryConfig::default() };
        let bucket = format!("{scheme}://{}", url.host_str().unwrap_or_default());
        let failed = |error: object_store::Error| Error::Place(format!("{text} cannot be used: {error}"));
        let store: Arc<dyn ObjectStore> = match scheme {
            "file" => {
                let path = url.to_file_path().map_err(|()| refused("the address names no folder of this machine"))?;
                return Self::folder(&path.to_string_lossy());
            }
            _ if url.host_str().is_none_or(str::is_empty) => return Err(refused(&format!("{text} names no bucket"))),
            "s3" => {
                let of = AmazonS3Builder::from_env().with_url(bucket).with_retry(retries);
                Arc::new(of.build().map_err(failed)?)
            }
            "gs" => {
                let of = GoogleCloudStorageBuilder::from_env().with_url(bucket).with_retry(retries);
                Arc::new(of.build().map_err(failed)?)
            }
            "az" => {
                let of = MicrosoftAzureBuilder::from_env().with_url(bucket).with_retry(retries);
                Arc::new(of.build().map_err(failed)?)
            }
            _ => return Err(refused(&format!("{scheme}:// is no place of exports"))),
        };
        let prefix = Path::from_url_path(url.path()).map_err(|error| refused(&format!("{text}: {error}")))?;
        Ok(Self { shown: text.trim_end_matches('/').to_owned(), store, prefix })
    }

    fn folder(text: &str) -> Result<Self, Error> {
        let failed = |error: &dyn fmt::Display| Error::Place(format!("{text} cannot be used as a folder: {error}"));
        std::fs::create_dir_all(text).map_err(|error| failed(&error))?;
        let store = LocalFileSystem::new_with_prefix(text).map_err(|error| failed(&error))?;
        Ok(Self { shown: text.trim_end_matches('/').to_owned(), store: Arc::new(store), prefix: Path::default() })
    }

    /// The place of a file of the export.
    pub(crate) fn file(&self, path: &str) -> Path {
        path.split('/').fold(self.prefix.clone(), |at, part| at.join(part))
    }

    pub(crate) fn unreachable(&self, error: &object_store::Error) -> Error {
        Error::Unreachable { place: self.shown.clone(), reason: error.to_string() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_folder_or_a_bucket_without_credentials() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("{}/exports/{{run}}", folder.path().display());
        let place = Place::of(&text, "r1").unwrap();
        assert!(place.to_string().ends_with("/exports/r1") && folder.path().join("exports/r1").is_dir());
        assert_eq!(place.file("trials/a.parquet").as_ref(), "trials/a.parquet");
        let of_url = Place::of(&format!("file://{}/x", folder.path().display()), "r1").unwrap();
        assert!(of_url.to_string().ends_with("/x"), "{of_url}");
        for (text, reason) in [
            ("", "the place of an export is empty; an export goes to a folder, file://, s3://, gs:// or az://"),
            (
                "ftp://host/x",
                "ftp:// is no place of exports; an export goes to a folder, file://, s3://, gs:// or az://",
            ),
            ("s3:///x", "names no bucket"),
            ("s3://key:canary@bucket/x", "has credentials"),
            ("s3://bucket/x?secret=canary", "has credentials"),
            ("s3://buck et/canary", "the address is not one"),
        ] {
            let error = Place::of(text, "r1").unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
            assert!(!error.contains("canary"), "{error}");
        }
    }
}
