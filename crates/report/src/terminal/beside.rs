//! What a battery found of each requirement, and what stands beside the verdict.

use record::Summary;

use super::{Page, Table, clean, fit};
use crate::{
    battery::examined::{Examined, names},
    figures::{self, count},
    informing::Informing,
};

const BATTERIES_SHOWN: usize = 5;
const ROWS_SHOWN: usize = 12;

impl Page {
    pub(super) fn battery(&mut self, summary: &Summary, examined: &Examined) {
        let sections = examined.sections(summary);
        for section in sections.iter().take(BATTERIES_SHOWN) {
            let room = self.width.saturating_sub("Requirements of ".len());
            self.heading(&format!("Requirements of {}", fit(&clean(&section.case), room)));
            let mut table = Table::new("llrrrr", &[1]).dropping(&[1, 5]);
            let heads = ["", "", "conversations", "replies", "rate", "95%"];
            table.row(heads.map(|word| self.paint.dim(word)));
            for (requirement, tested) in &section.rows {
                let rate = tested.rate();
                table.row([
                    names(*requirement),
                    requirement.title().to_owned(),
                    tested.conversations_text(),
                    tested.replies_text(),
                    figures::estimate(&rate),
                    figures::interval(&rate),
                ]);
            }
            self.table(&table);
        }
        if sections.len() > BATTERIES_SHOWN {
            let more = figures::plural((sections.len() - BATTERIES_SHOWN) as u64, "more case", "more cases");
            self.line(&format!("  … and {more} in the report"));
        }
    }

    pub(super) fn beside(&mut self, summary: &Summary, informing: &Informing) {
        let (lines, scores) = (informing.lines(summary), informing.scores(summary));
        if lines.is_empty() && scores.is_empty() {
            return;
        }
        self.heading("Beside the verdict");
        for (case, score) in scores.iter().take(ROWS_SHOWN) {
            self.wrapped(2, 2, &format!("{}: score by weight {score}", clean(case)));
        }
        if lines.is_empty() {
            return;
        }
        let mut table = Table::new("llrrr", &[0, 1]).dropping(&[4]);
        table.row(["only informs", "case", "passed", "failed", "not judged"].map(|word| self.paint.dim(word)));
        for line in lines.iter().take(ROWS_SHOWN) {
            let [pass, fail, open] = [line.findings.pass, line.findings.fail, line.findings.open].map(count);
            table.row([clean(&line.check), clean(&line.case), pass, fail, open]);
        }
        self.table(&table);
        let more = lines.len().saturating_sub(ROWS_SHOWN) as u64;
        if more > 0 {
            self.line(&format!("  … and {} more in the report", count(more)));
        }
    }
}
