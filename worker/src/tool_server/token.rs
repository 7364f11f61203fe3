//! The secret part of a trial's path.

use std::fmt::Write as _;

/// As many as a version 4 UUID has, and some more.
const BYTES: usize = 16;

/// Hexadecimal digits from the randomness of the operating system: not from the seed, which is in every report.
pub(super) fn new() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    let mut token = String::with_capacity(2 * BYTES);
    for byte in bytes {
        write!(token, "{byte:02x}").expect("a string takes all that is written");
    }
    Ok(token)
}
