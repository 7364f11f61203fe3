//! Random numbers of one thing that has a key, such as an arrival: no number depends on how many were drawn before.
//!
//! Logarithms come from `libm`, which is the same code on every machine: the system's own may differ in the last digit, and then
//! two workers would disagree.

/// Mixes all bits into all bits (the finaliser of `SplitMix64`).
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// One number from several.
pub(crate) fn key(parts: &[u64]) -> u64 {
    parts.iter().fold(0x9E37_79B9_7F4A_7C15, |key, part| mix(key ^ mix(part.wrapping_add(0x9E37_79B9_7F4A_7C15))))
}

/// The random numbers of one key.
pub(crate) struct Draws {
    state: u64,
}

impl Draws {
    pub(crate) fn of(key: u64) -> Self {
        Self { state: key }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// Uniform in 0..1, without 0.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// With mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// Standard normal, by the polar method, which needs no sine.
    pub(crate) fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// Gamma with this shape and scale 1 (Marsaglia and Tsang 2000; shapes below 1 by their section 6).
    pub(crate) fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let power = libm::exp(libm::log(self.unit()) / shape);
            return self.gamma(shape + 1.0) * power;
        }
        let third = shape - 1.0 / 3.0;
        let scale = 1.0 / (9.0 * third).sqrt();
        loop {
            let normal = self.normal();
            let root = 1.0 + scale * normal;
            if root <= 0.0 {
                continue;
            }
            let cube = root * root * root;
            if libm::log(self.unit()) < 0.5 * normal * normal + third * (1.0 - cube + libm::log(cube)) {
                return third * cube;
            }
        }
    }
}
