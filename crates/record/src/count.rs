//! Counts with units: `1 case`, `2 cases`, `12,345 trials`. Money is in [`crate::money`].

/// `12,345`.
#[must_use]
pub fn digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 case`, `2 cases`.
#[must_use]
pub fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", digits(number), if number == 1 { one } else { many })
}
