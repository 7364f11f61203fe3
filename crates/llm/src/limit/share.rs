//! The part of an endpoint's limits that this process may use: the coordinator divides the limits among its workers.

/// So many parts of a whole. A process without a fleet has all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    parts: u32,
    of: u32,
    /// Calls at the same time, of a limit that the coordinator divides by number; `None`: as many as the parts are worth.
    calls: Option<u32>,
}

impl Share {
    pub const WHOLE: Self = Self { parts: 1, of: 1, calls: None };
    /// No limited call may start.
    pub const NONE: Self = Self { parts: 0, of: 1, calls: None };

    #[must_use]
    pub fn new(parts: u32, of: u32) -> Self {
        if of == 0 { Self::NONE } else { Self { parts: parts.min(of), of, calls: None } }
    }

    /// With a number of calls at the same time.
    #[must_use]
    pub fn with_calls(self, calls: u32) -> Self {
        Self { calls: Some(calls), ..self }
    }

    #[must_use]
    pub fn parts(self) -> u32 {
        self.parts
    }

    #[must_use]
    pub fn of(self) -> u32 {
        self.of
    }

    #[must_use]
    pub fn is_none(self) -> bool {
        self.parts == 0
    }

    /// Of so many calls at the same time.
    #[must_use]
    pub fn calls_of(self, most: u64) -> u64 {
        self.calls.map_or_else(|| self.whole_part_of(most), |calls| most.min(calls.into()))
    }

    /// Of things that cannot be divided: rounded down, but one at least, so that every worker gets on.
    #[must_use]
    pub fn whole_part_of(self, count: u64) -> u64 {
        if self.is_none() {
            return 0;
        }
        let part = u128::from(count) * u128::from(self.parts) / u128::from(self.of);
        u64::try_from(part).unwrap_or(u64::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_rounded_down_to_one_at_least() {
        let rows = [
            (Share::WHOLE, 9, 9),
            (Share::new(1, 3), 9, 3),
            (Share::new(1, 3), 8, 2),
            (Share::new(2, 3), 8, 5),
            (Share::new(1, 3), 1, 1),
            (Share::NONE, 9, 0),
            (Share::new(1, 0), 9, 0),
            (Share::new(5, 4), 8, 8),
            (Share::WHOLE, u64::MAX, u64::MAX),
        ];
        for (share, count, part) in rows {
            assert_eq!(share.whole_part_of(count), part, "{share:?} of {count}");
        }
    }
}
