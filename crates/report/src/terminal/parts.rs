//! Tables by agent, by tag and by the values of axes, where they are short; how long the run took.

use record::Summary;

use super::{Page, Table, clean, fit};
use crate::{figures, parts};

/// Longer tables are in the report only.
const ROWS_SHOWN: usize = 12;
const TABLES_SHOWN: usize = 4;

impl Page {
    pub(super) fn parts(&mut self, summary: &Summary) {
        let tables = parts::tables(summary);
        for of in tables.iter().filter(|of| of.rows.len() <= ROWS_SHOWN).take(TABLES_SHOWN) {
            self.heading(&format!("By {}", fit(&clean(&of.by), self.width.saturating_sub(3))));
            let mut table = Table::new("lrrrrrr", &[0]).dropping(&[6, 4, 5]);
            let heads = ["", "success rate", "95%", "failures", "p50", "p95", "cost"];
            table.row(heads.map(|word| self.paint.dim(word)));
            for row in &of.rows {
                let failures = format!("{}/{}", row.failures, row.trials);
                let figures = [&row.rate, &row.interval, &failures, &row.p50, &row.p95, &row.cost];
                table.row(std::iter::once(clean(&row.name)).chain(figures.map(String::clone)));
            }
            self.table(&table);
            if of.by == "agent" {
                for row in of.rows.iter().filter(|row| !row.kinds.is_empty()) {
                    self.wrapped(4, 2, &format!("{}: {}", clean(&row.name), row.kinds));
                }
            }
        }
    }

    pub(super) fn wall(&mut self, summary: &Summary) {
        let Some(wall) = summary.wall else { return };
        let mut text = figures::millis(wall.duration_ms as f64);
        if let Some(pace) = figures::pace(&wall, summary.summary.conversations) {
            text.push_str(&format!("; {pace}"));
        }
        self.fact("wall time", &text);
    }
}
