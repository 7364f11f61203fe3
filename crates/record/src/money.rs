//! Money as whole billionths of a US dollar, so that sums do not depend on their order.

use std::{
    fmt,
    iter::Sum,
    ops::{Add, AddAssign},
};

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
impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

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
    /// `$0.0123`: four decimals below a cent, two above ten dollars. A smaller amount is `<$0.0001`, because `$0.0000`
    /// would mean that it was free.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.dollars();
        match dollars {
            _ if dollars.abs() >= 10.0 => write!(f, "${dollars:.2}"),
            _ if dollars > 0.0 && dollars < 0.000_05 => write!(f, "<$0.0001"),
            _ => write!(f, "${dollars:.4}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_is_not_zero_does_not_look_like_zero() {
        for (nanos, text) in [
            (0, "$0.0000"),
            (1, "<$0.0001"),
            (49_999, "<$0.0001"),
            (50_000, "$0.0001"),
            (12_300_000, "$0.0123"),
            (12_345_000_000, "$12.35"),
        ] {
            assert_eq!(Usd(nanos).to_string(), text);
        }
    }
}
