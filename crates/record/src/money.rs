//! Money as whole billionths of a US dollar, so that sums do not depend on their order.

use std::{fmt, iter::Sum, ops::AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nano-dollars: a token at $0.05 a million costs 50.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Usd(pub i64);

impl Usd {
    #[must_use]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Saturates: figures come from workers, and a worker that lies must not stop a coordinator.
impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

impl fmt::Display for Usd {
    /// `$0.0123`: four decimals below a dollar's hundredth part matter, two above ten dollars do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.dollars();
        if dollars.abs() >= 10.0 { write!(f, "${dollars:.2}") } else { write!(f, "${dollars:.4}") }
    }
}
