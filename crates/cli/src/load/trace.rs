//! The times of a trace file, as gaps between one start and the next.

use std::{fs::File, path::Path};

use scenario::{load::MOST_TRACED, time};
use serde_json::Value;

use super::settings::{TimeUnit, Trace};

/// What the column is called, unless the settings say otherwise.
const USUAL_COLUMN: &str = "timestamp";

const DAY_MICROS: f64 = 86_400e6;
/// A time in seconds is not so far from 1970: this is the year 5138, or 1973 in milliseconds.
const MOST_SECONDS: f64 = 1e11;

/// The gap before each start in microseconds. The first start is at `start`, and the rows may have any order. The error names the
/// key.
pub(super) fn gaps(trace: &Trace, start: u64, folder: &Path) -> Result<Vec<u64>, (&'static str, String)> {
    let speed = trace.speed.unwrap_or(1.0);
    if !(1e-6..=1e6).contains(&speed) {
        return Err(("speed", format!("is {speed}, and must be from 0.000001 to 1000000")));
    }
    let path = folder.join(&trace.file);
    let file = File::open(&path)
        .map_err(|error| ("file", format!("names {}, which cannot be read: {error}", path.display())))?;
    let column = trace.column.as_deref().unwrap_or(USUAL_COLUMN);
    let values = formats::column(&trace.file, file, column, MOST_TRACED).map_err(|fault| match fault {
        formats::ColumnFault::Column(reason) => ("column", reason),
        formats::ColumnFault::File(reason) => ("file", reason),
    })?;
    let mut times = Vec::with_capacity(values.len());
    for (line, value) in &values {
        if value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty()) {
            return Err(("column", format!("`{column}` has no value in line {line} of {}", trace.file)));
        }
        let micros = micros_of(value, unit_micros(trace.unit)).ok_or_else(|| {
            let expected = "expected a number, or a date and time such as 2026-11-23T08:00:00Z";
            ("column", format!("`{column}`, line {line} of {}: {expected}, found {value}", trace.file))
        })?;
        if let Some((first, of_first)) = values.first()
            && is_number(value) != is_number(of_first)
        {
            let reason = format!(
                "`{column}` of {} has a date beside a number, and one says nothing of the other: {of_first} in line {first}, {value} in line {line}",
                trace.file
            );
            return Err(("column", reason));
        }
        times.push(micros);
    }
    times.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (times.first().copied(), times.last().copied()) else {
        return Err(("file", "has no rows".to_owned()));
    };
    let has_numbers = values.first().is_some_and(|(_, value)| is_number(value));
    if trace.unit.is_some() && !has_numbers {
        let reason = format!("is for numbers, and `{column}` of {} has dates\nhint: leave `unit` out", trace.file);
        return Err(("unit", reason));
    }
    if trace.unit.is_none() && last > MOST_SECONDS * 1e6 {
        let seconds = last / 1e6;
        return Err((
            "column",
            format!(
                "`{column}` of {} has {seconds}, and numbers are seconds\nhint: write `unit: ms` beside `file` for milliseconds, `unit: us` for microseconds",
                trace.file
            ),
        ));
    }
    let length = (last - first) / speed + start as f64;
    if length > time::MOST_MICROS as f64 {
        let days = (length / DAY_MICROS).ceil();
        let unit = if has_numbers && trace.unit.is_none() {
            "numbers are seconds: write `unit: ms` if they are milliseconds; "
        } else {
            ""
        };
        let hint = format!("{unit}a larger `speed` plays it in less time");
        let end = if start > 0 { "ends after" } else { "lasts" };
        return Err(("file", format!("{end} {days} days, and at most 31 are played\nhint: {hint}")));
    }
    // Rounded as times and not as gaps, so that the errors do not add up.
    let due: Vec<u64> = times.into_iter().map(|time| ((time - first) / speed).round() as u64).collect();
    let before = std::iter::once(0).chain(due.iter().copied());
    let mut gaps: Vec<u64> = due.iter().zip(before).map(|(due, before)| due - before).collect();
    if let Some(first) = gaps.first_mut() {
        *first = start;
    }
    Ok(gaps)
}

/// Whether a value counts from any beginning, and is no date.
fn is_number(value: &Value) -> bool {
    value.is_number() || value.as_str().is_some_and(|text| text.trim().parse::<f64>().is_ok())
}

/// How many microseconds a number of a trace counts.
fn unit_micros(unit: Option<TimeUnit>) -> f64 {
    match unit.unwrap_or(TimeUnit::S) {
        TimeUnit::S => 1e6,
        TimeUnit::Ms => 1e3,
        TimeUnit::Us => 1.0,
    }
}

/// Microseconds from any beginning.
fn micros_of(value: &Value, unit: f64) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.trim().parse() {
            Ok(number) => Some(number),
            Err(_) => return date_micros(text.trim()),
        },
        _ => None,
    };
    number.filter(|number| number.is_finite()).map(|number| number * unit)
}

fn date_micros(text: &str) -> Option<f64> {
    let with_zone = chrono::DateTime::parse_from_rfc3339(text)
        // As the timestamps of a Parquet file are read.
        .or_else(|_| chrono::DateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f %:z"))
        .map(|time| time.timestamp_micros());
    let without = || {
        let forms = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"];
        let time = forms.iter().find_map(|form| chrono::NaiveDateTime::parse_from_str(text, form).ok())?;
        Some(time.and_utc().timestamp_micros())
    };
    with_zone.ok().or_else(without).map(|micros| micros as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(file: &str, unit: Option<TimeUnit>, speed: Option<f64>) -> Trace {
        Trace { file: file.to_owned(), column: None, unit, speed }
    }

    #[test]
    fn times_become_gaps_in_the_order_of_time() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("s.csv", "id,timestamp\na,10.5\nb,10\nc,12\n");
        write("ms.jsonl", "{\"timestamp\": 0, \"input_length\": 5}\n{\"timestamp\": 3000}\n");
        write("dates.csv", "timestamp\n2023-11-16 18:17:03.9799600\n2023-11-16T18:17:04.03Z\n");
        write("zone.csv", "timestamp\n2023-11-16 18:17:03.979960 +00:00\n2023-11-16 20:17:04.030000 +02:00\n");
        let of = |name, unit, speed| gaps(&trace(name, unit, speed), 0, folder.path());
        assert_eq!(of("s.csv", None, None), Ok(vec![0, 500_000, 1_500_000]));
        assert_eq!(of("s.csv", None, Some(2.0)), Ok(vec![0, 250_000, 750_000]));
        assert_eq!(of("ms.jsonl", Some(TimeUnit::Ms), None), Ok(vec![0, 3_000_000]));
        assert_eq!(of("dates.csv", None, None), Ok(vec![0, 50_040]));
        assert_eq!(of("zone.csv", None, None), Ok(vec![0, 50_040]));
        let late = gaps(&trace("s.csv", None, None), 7_000_000, folder.path());
        assert_eq!(late, Ok(vec![7_000_000, 500_000, 1_500_000]));
        let too_late = gaps(&trace("s.csv", None, None), 31 * 86_400_000_000, folder.path()).unwrap_err();
        assert!(too_late.0 == "file" && too_late.1.starts_with("ends after 32 days"), "{too_late:?}");
        let of_dates = of("dates.csv", Some(TimeUnit::Ms), None).unwrap_err();
        assert!(of_dates.0 == "unit" && of_dates.1.contains("dates.csv has dates"), "{of_dates:?}");
        write("semicolons.csv", "id;timestamp\na;1\n");
        write("bad.csv", "timestamp\n1\nsoon\n");
        write("other.csv", "time\n1\n");
        write("s.txt", "timestamp\n1\n");
        write("none.csv", "timestamp\n");
        write("mixed.csv", "timestamp\n1763931600\n2023-11-16 18:17:04\n");
        write("long.csv", "timestamp\n0\n5000000\n");
        write("ms.csv", "timestamp\n1763931600000\n1763931605000\n");
        write("gap.csv", "id,timestamp\na,1\nb,\n");
        write("years.csv", "timestamp\n2021-11-16 18:17:04\n2023-11-16 18:17:04\n");
        for (name, key, expected) in [
            ("bad.csv", "column", "line 3 of bad.csv: expected a number"),
            ("other.csv", "column", "no column `timestamp`"),
            ("semicolons.csv", "column", "hint: separate columns by commas, or by tabs in a file that ends in `.tsv`"),
            ("none.csv", "file", "has no rows"),
            ("gone.csv", "file", "cannot be read"),
            ("s.txt", "file", "not a data file"),
            ("mixed.csv", "column", "\"1763931600\" in line 2, \"2023-11-16 18:17:04\" in line 3"),
            (
                "long.csv",
                "file",
                "lasts 58 days, and at most 31 are played\nhint: numbers are seconds: write `unit: ms`",
            ),
            ("ms.csv", "column", "has 1763931605000, and numbers are seconds\nhint: write `unit: ms`"),
            ("gap.csv", "column", "`timestamp` has no value in line 3 of gap.csv"),
            ("years.csv", "file", "lasts 730 days, and at most 31 are played\nhint: a larger `speed`"),
        ] {
            let (at, reason) = of(name, None, None).unwrap_err();
            assert!(at == key && reason.contains(expected), "{name}: {at} {reason}");
        }
    }
}
