//! Spans of time as users write them: `90s`, `1h30m`, `500ms`.

/// The longest span: 31 days.
pub const MOST_MICROS: u64 = 31 * 86_400 * 1_000_000;

/// The units, the largest first, in microseconds.
const UNITS: [(&str, f64); 6] = [("d", 86_400e6), ("h", 3_600e6), ("m", 60e6), ("s", 1e6), ("ms", 1e3), ("us", 1.0)];

/// Reads parts of a number and a unit, in microseconds: `2h`, `1h30m`, `1.5s`, `500ms`.
///
/// # Errors
/// What was expected and what was found, in words.
pub fn read(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a time such as 500ms, 90s, 15m or 1h30m, found {text:?}");
    let (mut left, mut micros) = (text.trim(), 0.0);
    if left == "0" {
        return Ok(0);
    }
    if left.is_empty() {
        return Err(wrong());
    }
    while !left.is_empty() {
        let digits = left.find(|letter: char| !letter.is_ascii_digit() && letter != '.').ok_or_else(wrong)?;
        let number: f64 = left[..digits].parse().map_err(|_| wrong())?;
        let rest = left[digits..].trim_start();
        let length = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..length] {
            "min" => "m",
            unit => unit,
        };
        let (_, each) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        micros += number * each;
        left = rest[length..].trim_start();
    }
    if micros > MOST_MICROS as f64 {
        return Err(format!("expected a time of at most 31 days, found {text:?}"));
    }
    Ok(micros.round() as u64)
}

/// The largest units that give whole numbers: `1h30m`, `1s500ms`.
#[must_use]
pub fn show(micros: u64) -> String {
    if micros == 0 {
        return "0s".to_owned();
    }
    let (mut left, mut text) = (micros, String::new());
    for (name, each) in UNITS {
        let each = each as u64;
        let whole = left / each;
        if whole > 0 {
            text.push_str(&format!("{whole}{name}"));
        }
        left %= each;
    }
    text
}
