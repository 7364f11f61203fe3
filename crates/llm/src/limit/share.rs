//! The part of an endpoint's limits that this process may use: workers share the limits in proportion to their slots.

/// This many of all slots of a fleet. A process without a fleet has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    slots: u32,
    of: u32,
}

impl Share {
    pub const WHOLE: Self = Self { slots: 1, of: 1 };
    /// No limited call may start.
    pub const NONE: Self = Self { slots: 0, of: 1 };

    #[must_use]
    pub fn new(slots: u32, of: u32) -> Self {
        if of == 0 { Self::NONE } else { Self { slots: slots.min(of), of } }
    }

    #[must_use]
    pub fn slots(self) -> u32 {
        self.slots
    }

    #[must_use]
    pub fn of(self) -> u32 {
        self.of
    }

    #[must_use]
    pub fn is_none(self) -> bool {
        self.slots == 0
    }

    /// Of things that cannot be divided: rounded down, but one at least, so that every worker gets on.
    #[must_use]
    pub fn whole_part_of(self, count: u64) -> u64 {
        if self.is_none() {
            return 0;
        }
        let part = u128::from(count) * u128::from(self.slots) / u128::from(self.of);
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
