//! What a certificate allows.

use std::{fmt, str::FromStr, time::Duration};

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

/// Each role has its own certificates; the table of calls is in the coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Plays trials.
    Worker,
    /// Reads runs and their results.
    View,
    /// Also starts, stops and steers runs.
    Submit,
    /// Also makes join tokens.
    Admin,
    /// Passes on the calls of others to the coordinator in charge, and says who they are.
    Coordinator,
}

impl Role {
    /// Those of clients. Nobody gets a token or an identity for [`Role::Coordinator`].
    pub const ALL: [Self; 4] = [Self::Worker, Self::View, Self::Submit, Self::Admin];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::View => "view",
            Self::Submit => "submit",
            Self::Admin => "admin",
            Self::Coordinator => "coordinator",
        }
    }

    /// Of a client.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// How long its certificates are valid. A worker is always there to renew its own; people come once in a while.
    #[must_use]
    pub fn lifetime(self) -> Duration {
        match self {
            Self::Worker => Duration::from_secs(DAY),
            Self::View | Self::Submit | Self::Admin => Duration::from_secs(30 * DAY),
            Self::Coordinator => Duration::from_secs(365 * DAY),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::named(text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("expected one of {names}")
        })
    }
}
