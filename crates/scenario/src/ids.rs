//! Names of things that outlive a process: short, stable, made by hashing what the thing is.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
        Self(hex(&Sha256::digest(bytes)))
    }

    /// The first 16 digits, enough for an id within a run.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..self.0.len().min(16)]
    }
}

/// A number drawn from what a thing is called: the first 8 bytes of SHA-256 over the parts.
#[must_use]
pub fn seed_of(parts: &[&[u8]]) -> u64 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    let mut first = [0_u8; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(first)
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)] as char);
        text.push(DIGITS[usize::from(byte & 15)] as char);
    }
    text
}
