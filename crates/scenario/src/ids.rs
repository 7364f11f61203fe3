//! Ids of things that outlive a process: short, stable hashes of their content.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            #[must_use]
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// A cell of the matrix: 16 hex digits of SHA-256 over scenario, parameters, persona and agent.
    CaseId
}
id! {
    /// One repeat of a case: 16 hex digits of SHA-256 over the case and the repeat's number.
    TrialId
}
id! {
    /// One execution of a plan: `YYYYMMDD-HHMMSS-xxxx`, so that names sort by time.
    RunId
}
id! {
    /// SHA-256 of a value's canonical JSON, 64 hex digits.
    Digest
}

impl Digest {
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(const_hex::encode(Sha256::digest(bytes)))
    }

    /// The digest of a value, independent of the order of its keys, so that a store may sort them.
    #[must_use]
    pub fn of_json(value: &Value) -> Self {
        let mut text = String::new();
        canonical(value, &mut text);
        Self::of(text.as_bytes())
    }

    /// The first 16 digits, enough for an id within a run.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..self.0.len().min(16)]
    }
}

/// An id from a thing's parts: 16 hex digits of SHA-256 over the parts and their lengths.
#[must_use]
pub fn name_of(parts: &[&[u8]]) -> String {
    const_hex::encode(&digest_of(parts)[..8])
}

/// A number from a thing's name: the first 8 bytes of SHA-256 over the parts.
#[must_use]
pub fn seed_of(parts: &[&[u8]]) -> u64 {
    let mut first = [0_u8; 8];
    first.copy_from_slice(&digest_of(parts)[..8]);
    u64::from_le_bytes(first)
}

/// The length precedes each part, so that `ab` and `c` differ from `a` and `bc`.
fn digest_of(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// JSON with the keys of every object in byte order and no blanks.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                canonical(item, text);
            }
            text.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                canonical(&Value::String(key.clone()), text);
                text.push(':');
                canonical(item, text);
            }
            text.push('}');
        }
        leaf => text.push_str(&leaf.to_string()),
    }
}
