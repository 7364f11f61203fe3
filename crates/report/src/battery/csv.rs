//! Distributions as CSV: every score of every reply, and the histograms of success over the level of error.

use record::battery::Reply;
use serde_json::Value;

use super::{Totals, sheet::Sum, workbook::harmless};

pub(super) const SCORES: [&str; 11] =
    ["case", "run", "turn", "requirement", "later_name", "set", "values", "level", "score_name", "score", "finding"];

pub(super) const HISTOGRAMS: [&str; 5] = ["case", "column", "level", "passed", "total"];

/// The lines of one trial: one for each finding about a reply, seven for toxicity.
pub(super) fn scores(case: &str, run: u32, replies: &[Reply]) -> String {
    let mut lines = Vec::new();
    for Reply { turn, finding, cell } in replies {
        let own = match &cell.detail {
            Some(Value::Bool(truth)) => truth.to_string(),
            Some(detail) => detail.to_string(),
            None => String::new(),
        };
        let named = if cell.scores.is_empty() {
            vec![(String::new(), own)]
        } else {
            cell.scores.iter().map(|(name, score)| (name.clone(), score.to_string())).collect()
        };
        for (name, score) in named {
            lines.push([
                harmless(case),
                run.to_string(),
                turn.to_string(),
                cell.requirement.id().to_owned(),
                cell.requirement.later_name().to_owned(),
                cell.set.map_or_else(String::new, |set| set.to_string()),
                cell.values.map_or_else(String::new, |values| values.shown()),
                cell.values.map_or_else(String::new, |values| values.level().to_string()),
                name,
                score,
                finding.name().to_owned(),
            ]);
        }
    }
    text(&lines)
}

/// The histograms of a case, one line a level.
pub(super) fn histograms(case: &str, totals: &Totals) -> String {
    let mut lines = Vec::new();
    for name in &totals.columns {
        if let Some(Sum::ByLevel(levels)) = totals.all.get(name) {
            for (level, [passed, total]) in levels.iter().enumerate() {
                lines.push([harmless(case), name.clone(), level.to_string(), passed.to_string(), total.to_string()]);
            }
        }
    }
    text(&lines)
}

pub(crate) fn text<const N: usize>(lines: &[[impl AsRef<[u8]>; N]]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.write_record(line).expect("lines have one length and memory takes them");
    }
    let bytes = writer.into_inner().expect("memory takes what is written");
    String::from_utf8(bytes).expect("only text was written")
}
