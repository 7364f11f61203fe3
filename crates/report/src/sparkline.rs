//! A course as a line of blocks.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A point without a value.
const GAP: char = '·';

/// One block for each of the last `columns` values, from 0 to `top`, or to the highest value.
pub(crate) fn sparkline(values: &[Option<f64>], top: Option<f64>, columns: usize) -> String {
    let shown = &values[values.len().saturating_sub(columns)..];
    let top = top.unwrap_or_else(|| shown.iter().flatten().copied().fold(0.0, f64::max));
    let block = |value: &Option<f64>| match value {
        None => GAP,
        Some(_) if top <= 0.0 => BLOCKS[0],
        Some(value) => BLOCKS[((value / top).clamp(0.0, 1.0) * (BLOCKS.len() - 1) as f64).round() as usize],
    };
    shown.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_as_high_as_its_value() {
        let values = [Some(0.0), Some(0.5), None, Some(1.0)];
        assert_eq!(sparkline(&values, Some(1.0), 10), "▁▅·█");
        assert_eq!(sparkline(&values, Some(2.0), 2), "·▅");
        assert_eq!(sparkline(&[Some(30.0), Some(60.0)], None, 10), "▅█");
        assert_eq!(sparkline(&[Some(0.0), None], None, 10), "▁·");
    }
}
