//! The result: what was required, what was found, and whether it holds.

use std::fmt::Write as _;

use statrs::function::beta::inv_beta_reg;

use crate::chance::{self, Chance};

/// A deviation that chance alone makes as rarely as this is a defect.
const DEFECT: f64 = 1e-4;

#[derive(Debug)]
pub(crate) struct Sheet {
    experiments: u64,
    seed: u64,
    /// Procedures that were played.
    procedures: u64,
    sections: Vec<Section>,
}

#[derive(Debug)]
struct Section {
    title: &'static str,
    lines: Vec<Line>,
}

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) what: String,
    pub(crate) required: Required,
    pub(crate) found: Share,
    pub(crate) note: String,
}

/// What the share must be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Required {
    AtMost(f64),
    AtLeast(f64),
    /// The exactly computed share.
    Exactly(f64),
    /// For comparison: gabfest does not do this, or promises nothing.
    Nothing,
}

/// A share of experiments, or an exact one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Share {
    Found { count: u64, of: u64 },
    Exact(f64),
}

impl Sheet {
    pub(crate) fn new(experiments: u64, seed: u64) -> Self {
        Self { experiments, seed, procedures: 0, sections: Vec::new() }
    }

    pub(crate) fn section(&mut self, title: &'static str) {
        self.sections.push(Section { title, lines: Vec::new() });
    }

    pub(crate) fn play<T: Send>(&mut self, one: impl Fn(&mut Chance) -> T + Sync) -> Vec<T> {
        self.procedures += 1;
        chance::play(self.experiments, self.seed, self.procedures, one)
    }

    /// In how many experiments it happens.
    pub(crate) fn share(&mut self, happens: impl Fn(&mut Chance) -> bool + Sync) -> Share {
        let found = self.play(happens);
        Share::Found { count: found.iter().filter(|happened| **happened).count() as u64, of: found.len() as u64 }
    }

    pub(crate) fn line(&mut self, what: impl Into<String>, required: Required, found: Share, note: impl Into<String>) {
        let line = Line { what: what.into(), required, found, note: note.into() };
        if let Some(section) = self.sections.last_mut() {
            section.lines.push(line);
        }
    }

    pub(crate) fn holds(&self) -> bool {
        self.sections.iter().flat_map(|section| &section.lines).all(Line::holds)
    }

    pub(crate) fn markdown(&self) -> String {
        let mut page = String::new();
        for Section { title, lines } in &self.sections {
            let _ = write!(page, "## {title}\n\n| what | must be | was | | note |\n|---|---|---|---|---|\n");
            for line in lines {
                let verdict = match line.required {
                    Required::Nothing => "",
                    _ if line.holds() => "holds",
                    _ => "**BROKEN**",
                };
                let Line { what, required, found, note } = line;
                let _ = writeln!(page, "| {what} | {} | {} | {verdict} | {note} |", required.shown(), found.shown());
            }
            page.push('\n');
        }
        page
    }
}

impl Line {
    fn holds(&self) -> bool {
        let (low, high) = self.found.limits();
        match self.required {
            Required::AtMost(share) => low <= share,
            Required::AtLeast(share) => high >= share,
            Required::Exactly(share) => low <= share && share <= high,
            Required::Nothing => true,
        }
    }
}

impl Required {
    fn shown(self) -> String {
        match self {
            Self::AtMost(share) => format!("≤ {}", percent(share)),
            Self::AtLeast(share) => format!("≥ {}", percent(share)),
            Self::Exactly(share) => percent(share),
            Self::Nothing => "–".to_owned(),
        }
    }
}

impl Share {
    pub(crate) fn value(self) -> f64 {
        match self {
            Self::Found { count, of } => count as f64 / of.max(1) as f64,
            Self::Exact(share) => share,
        }
    }

    /// Clopper-Pearson limits.
    fn limits(self) -> (f64, f64) {
        match self {
            Self::Exact(share) => (share - 1e-9, share + 1e-9),
            Self::Found { count, of } => {
                let (passes, failures) = (count as f64, (of - count) as f64);
                let low = if count == 0 { 0.0 } else { inv_beta_reg(passes, failures + 1.0, DEFECT) };
                let high = if count == of { 1.0 } else { inv_beta_reg(passes + 1.0, failures, 1.0 - DEFECT) };
                (low, high)
            }
        }
    }

    fn shown(self) -> String {
        match self {
            Self::Found { .. } => percent(self.value()),
            Self::Exact(share) => format!("{} (exact)", percent(share)),
        }
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
