//! Ranges with at most one open end: `min`, `max` or both.

use std::fmt;

use crate::error::Error;

/// Refuses an empty range, and one without any end.
pub(crate) fn check<N: PartialOrd + fmt::Display>(
    field: &'static str,
    min: Option<N>,
    max: Option<N>,
) -> Result<(), Error> {
    match (min, max) {
        (None, None) => Err(Error::Empty { field }),
        (Some(min), Some(max)) if min > max => {
            Err(Error::Invalid { field, message: format!("{min} is more than the maximum, {max}") })
        }
        // NaN does not compare with itself.
        (Some(min), _) if min.partial_cmp(&min).is_none() => {
            Err(Error::Invalid { field, message: "it is not a number".to_owned() })
        }
        (_, Some(max)) if max.partial_cmp(&max).is_none() => {
            Err(Error::Invalid { field, message: "the most allowed is not a number".to_owned() })
        }
        _ => Ok(()),
    }
}

/// The range as a reason shows it.
pub(crate) fn shown<N: fmt::Display>(min: Option<N>, max: Option<N>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "any".to_owned(),
    }
}
