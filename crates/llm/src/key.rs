//! The place of a key: settings name a variable or a file and never hold the key.

use std::{borrow::Cow, env, fmt, fs, io::Read, path::PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// More than any key is; a path that leads to a disk image must not fill the memory.
const MOST_BYTES: u64 = 64 * 1024;

/// `env:NAME` or `file:PATH`. It shows only the place: the key is read where it is used, and wiped afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum KeyRef {
    Env(String),
    File(PathBuf),
}

/// Part of every error that finds a key instead of its place. If it is present, the value must not be shown.
pub const NEVER_WRITTEN: &str = "a key is never written in the file";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Does not show the value, which may be the key itself.
    #[error("{NEVER_WRITTEN}: name the place where it is kept, env:NAME or file:PATH")]
    NotAReference,
    #[error("the variable {0} is not set")]
    Unset(String),
    #[error("the variable {0} is not text")]
    NotText(String),
    #[error("the file {path} cannot be read")]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{0} is larger than a key can be")]
    TooLarge(KeyRef),
    #[error("{0} holds no key: it is empty")]
    Empty(KeyRef),
}

impl Error {
    /// Whether the key is missing, and nothing else is wrong. An empty variable counts as missing.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        match self {
            Self::Unset(_) | Self::Empty(_) => true,
            Self::Unreadable { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
            Self::NotAReference | Self::NotText(_) | Self::TooLarge(_) => false,
        }
    }
}

impl KeyRef {
    pub fn parse(text: &str) -> Result<Self, Error> {
        match text.split_once(':') {
            Some(("env", name)) if is_variable(name) => Ok(Self::Env(name.to_owned())),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            _ => Err(Error::NotAReference),
        }
    }

    /// Reads the key, without surrounding white space.
    pub fn resolve(&self) -> Result<SecretString, Error> {
        let text = match self {
            Self::Env(name) => env::var(name).map_err(|error| match error {
                env::VarError::NotPresent => Error::Unset(name.clone()),
                env::VarError::NotUnicode(_) => Error::NotText(name.clone()),
            })?,
            Self::File(path) => self.read(path)?,
        };
        let key = text.trim();
        if key.is_empty() { Err(Error::Empty(self.clone())) } else { Ok(SecretString::from(key)) }
    }

    fn read(&self, path: &PathBuf) -> Result<String, Error> {
        let unreadable = |source| Error::Unreadable { path: path.clone(), source };
        let mut text = String::new();
        let file = fs::File::open(path).map_err(unreadable)?;
        file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MOST_BYTES { Err(Error::TooLarge(self.clone())) } else { Ok(text) }
    }
}

/// A name that a shell can set. Keys with a colon in them must not pass for one.
fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl TryFrom<String> for KeyRef {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::parse(&text)
    }
}

impl From<KeyRef> for String {
    fn from(key: KeyRef) -> Self {
        key.to_string()
    }
}

impl fmt::Display for KeyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl JsonSchema for KeyRef {
    fn schema_name() -> Cow<'static, str> {
        "KeyRef".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Where the key is kept; the key itself is never written here.",
            "type": "string",
            "pattern": "^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$",
        })
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn only_references_are_taken() {
        let rows = [
            ("env:OPENAI_API_KEY", true),
            ("file:/run/secrets/key", true),
            ("env:", false),
            ("file:", false),
            ("env:sk-live-1234", false),
            ("env:1A", false),
            ("sk-live-1234", false),
            ("Bearer sk-live-1234", false),
            ("k8s:secret", false),
            ("", false),
        ];
        for (text, taken) in rows {
            let read = serde_json::from_value::<KeyRef>(serde_json::Value::from(text));
            assert_eq!(read.is_ok(), taken, "{text}");
            match read {
                Ok(key) => assert_eq!(serde_json::to_value(&key).expect("writes"), text),
                Err(error) => {
                    let message = error.to_string();
                    assert!(message.contains("never written in the file"), "{message}");
                    assert!(!message.contains("1234"), "{message}");
                }
            }
        }
    }

    #[test]
    fn a_key_is_read_from_its_place() {
        // Cargo sets this for every test that it runs.
        let key = KeyRef::parse("env:CARGO_PKG_NAME").expect("a reference").resolve().expect("set");
        assert_eq!(key.expose_secret(), "gabfest-llm");
        assert!(!format!("{key:?}").contains("gabfest"));

        let missing = KeyRef::parse("env:GABFEST_NO_SUCH_KEY").expect("a reference").resolve().expect_err("unset");
        assert!(missing.to_string().contains("GABFEST_NO_SUCH_KEY is not set"), "{missing}");

        let manifest = format!("file:{}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
        let text = KeyRef::parse(&manifest).expect("a reference").resolve().expect("there");
        assert!(text.expose_secret().starts_with("[package]"));
        assert!(!text.expose_secret().ends_with('\n'));

        let gone = KeyRef::parse("file:/no/such/key").expect("a reference").resolve().expect_err("missing");
        assert!(gone.to_string().contains("/no/such/key"), "{gone}");
        let endless = KeyRef::parse("file:/dev/zero").expect("a reference").resolve().expect_err("too large");
        assert!(matches!(endless, Error::TooLarge(_)), "{endless}");
    }
}
