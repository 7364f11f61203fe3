//! An amount of US dollars that is a budget.

/// No run costs more; it keeps sums far from the ends of numbers.
const MOST_USD: f64 = 1e8;

/// Why this is no budget.
pub(crate) fn fault(dollars: f64) -> Option<String> {
    (!(1e-9..=MOST_USD).contains(&dollars))
        .then(|| format!("a budget is more than 0 and at most {MOST_USD} US dollars"))
}
