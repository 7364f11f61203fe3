//! Chance by hashing: a draw is a function of a seed and a label, so that order and time cannot change it.

use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::context::Context;

/// A 64-bit hash that is the same on every machine and in every version; not for keys an attacker picks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key(u64);

impl Key {
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x6761_6266_6573_7431))
    }

    /// Of a request's seed. Servers get 63 bits of it (`openai::request`), and both ways must give one answer.
    pub(crate) fn of_seed(seed: Option<u64>) -> Self {
        Self::new(seed.unwrap_or(0) & (u64::MAX >> 1))
    }

    /// Of a call, before its texts.
    pub(crate) fn of_call(seed: Option<u64>, role: &str, context: &Context) -> Self {
        Self::of_seed(seed).text(role).number(u64::from(context.turn)).number(u64::from(context.call))
    }

    pub(crate) fn number(self, number: u64) -> Self {
        Self(mix(self.0.rotate_left(23) ^ number))
    }

    /// Includes the length, so that `"ab", "c"` and `"a", "bc"` differ.
    pub(crate) fn text(self, text: &str) -> Self {
        let mut key = self.number(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            key = key.number(u64::from_le_bytes(word));
        }
        key
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }

    /// Uniform in 0..1.
    pub(crate) fn unit(self) -> f64 {
        // The upper 53 bits are what a double holds exactly.
        (mix(self.0) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability; never at 0, always at 1.
    pub(crate) fn happens(self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// One of `choices`, which must not be empty.
    pub(crate) fn pick<T: ?Sized>(self, choices: &[&'static T]) -> &'static T {
        choices[(mix(self.0) % choices.len() as u64) as usize]
    }

    /// For distributions that need more than one number.
    pub(crate) fn stream(self) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.0)
    }
}

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_the_same_key_for_ever() {
        // A fixed value: recorded runs are compared across versions.
        let key = Key::new(7).text("pass").number(3);
        assert_eq!(key.value(), 17_061_546_656_998_148_498);
        assert_eq!(key.pick(&["a", "b", "c", "d"]), "b");
    }

    #[test]
    fn where_one_text_ends_matters() {
        let a = Key::new(1).text("ab").text("c").value();
        let b = Key::new(1).text("a").text("bc").value();
        assert_ne!(a, b);
    }

    #[test]
    fn probabilities_are_kept() {
        for probability in [0.0, 0.1, 0.5, 0.97, 1.0] {
            let trials = 20_000_u32;
            let hits = (0..trials).filter(|n| Key::new(u64::from(*n)).text("draw").happens(probability)).count();
            let sigma = (f64::from(trials) * probability * (1.0 - probability)).sqrt();
            let expected = f64::from(trials) * probability;
            assert!((hits as f64 - expected).abs() <= 4.0 * sigma, "{probability}: {hits}");
        }
    }
}
