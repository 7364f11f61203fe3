//! The number of repeats that must pass.

/// A number of repeats (`7`), or a share of them (`0.9`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Required {
    /// This number.
    Count(u32),
    /// 0 to 1, rounded up to whole repeats: 0.9 of 8 is all 8, and 0.67 of 3 is 2.
    Share(f64),
}

impl From<u32> for Required {
    fn from(count: u32) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Required {
    fn from(share: f64) -> Self {
        Self::Share(share)
    }
}

impl Required {
    /// The number of required repeats out of `repeats`.
    ///
    /// # Errors
    /// The number is more than the number of repeats, or zero.
    pub(super) fn of(self, repeats: u32) -> Result<u32, String> {
        let needed = match self {
            Self::Count(count) => count,
            Self::Share(share) if !(0.0..=1.0).contains(&share) => {
                return Err(format!("a share of {share} is required, and a share is from 0 to 1"));
            }
            Self::Share(share) => record::share::least_of(share, u64::from(repeats)) as u32,
        };
        match needed {
            0 => Err("no repeat is required to pass, so nothing would be tested".to_owned()),
            needed if needed > repeats => {
                Err(format!("{needed} repeats are required to pass, and {repeats} are played"))
            }
            needed => Ok(needed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_shares_of_repeats() {
        let rows: [(Required, u32, Option<u32>); 12] = [
            (7.into(), 8, Some(7)),
            (8.into(), 8, Some(8)),
            (9.into(), 8, None),
            (0.into(), 8, None),
            (1.into(), 1, Some(1)),
            (1.0.into(), 8, Some(8)),
            (0.9.into(), 8, Some(8)),
            (0.7.into(), 10, Some(7)),
            (0.67.into(), 3, Some(2)),
            (0.0.into(), 8, None),
            (1.1.into(), 8, None),
            (f64::NAN.into(), 8, None),
        ];
        for (required, repeats, needed) in rows {
            assert_eq!(required.of(repeats).ok(), needed, "{required:?} of {repeats}");
        }
    }
}
