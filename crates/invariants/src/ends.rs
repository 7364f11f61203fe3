//! I8: the run ends in time.

use std::time::Duration;

/// `took`: from the moment when it was submitted. `most`: twice the undisturbed run, and what sessions take to end.
#[must_use]
pub fn ends(took: Duration, most: Duration) -> Vec<String> {
    if took <= most {
        return Vec::new();
    }
    vec![format!("it took {:.1} s, at most {:.1} s", took.as_secs_f64(), most.as_secs_f64())]
}
