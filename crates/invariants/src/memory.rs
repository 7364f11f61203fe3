//! I9: memory.

/// `resident`: the most that a coordinator had, in bytes; 0: nobody looked. `most`: what it may have.
#[must_use]
pub fn memory(resident: u64, most: u64) -> Vec<String> {
    if resident == 0 {
        return vec!["nobody looked at a coordinator's memory".to_owned()];
    }
    if resident <= most {
        return Vec::new();
    }
    vec![format!("a coordinator had {} MiB, and may have {}", resident >> 20, most >> 20)]
}
