//! The content of a report's pages, as data that is computed once. Markdown, the terminal and HTML only lay it out.

mod battery;
mod breakdowns;
pub(crate) mod compare;
mod custom_checks;
mod drift;
pub(crate) mod events;
mod faults;
mod headline;
mod informing;
mod judges;
mod latency;
pub(crate) mod load;
pub(crate) mod model;
mod named_limits;
pub(crate) mod noise;
mod quarantine;
mod room;
mod search;
pub(crate) mod sentinels;
mod simulated_user;
mod spend;
mod transcripts;
pub(crate) mod trends;

use record::Summary;

pub(crate) use self::{
    headline::Headline,
    model::{Block, Cell, Failures, Fault, Kind, LineKind, Look, Section},
    room::Room,
};
use crate::{Found, matrix::Matrix, spending};

/// A whole report, cut to the room of a page.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) headline: Headline,
    /// In reading order. Sections without content are left out.
    pub(crate) sections: Vec<Section>,
}

impl Document {
    pub(crate) fn of(summary: &Summary, found: &Found, room: Room) -> Self {
        let mut sections = vec![compare::section(found, room), matrix(summary, room)];
        sections.extend(breakdowns::sections(summary, room));
        sections.push(breakdowns::checks(summary, room));
        sections.push(breakdowns::metrics(summary, room));
        sections.push(battery::section(summary, &found.examined, room));
        sections.push(failures(summary, found, room));
        sections.push(quarantine::section(summary, room));
        sections.push(transcripts::section(summary));
        sections.push(judges::section(summary));
        sections.push(judges::corrected(summary));
        sections.push(sentinels::section(found));
        sections.push(custom_checks::section(summary));
        sections.push(informing::section(summary, &found.informing, room));
        sections.push(simulated_user::section(summary, room));
        sections.push(events::section(summary));
        sections.push(load::section(summary, room));
        sections.push(search::section(summary, room));
        sections.push(load::by_step(summary, room));
        sections.push(drift::section(summary));
        sections.push(latency::section(summary, room));
        sections.push(latency::by_turn(summary, room));
        sections.push(latency::by_model(summary, room));
        sections.push(throttling(summary));
        sections.push(named_limits::section(summary));
        sections.push(spend::section(summary));
        if room.agent_failures {
            sections.push(faults::of_agent(summary));
        }
        sections.push(faults::section(summary, room));
        sections.retain(|section| !section.blocks.is_empty());
        Self { headline: Headline::of(summary, found), sections }
    }

    pub(crate) fn section(&self, kind: Kind) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == kind)
    }
}

fn matrix(summary: &Summary, room: Room) -> Section {
    let matrix = Matrix::of(&summary.cases);
    let title = if room.narrow { "Scenarios and personas" } else { "Scenarios × personas" };
    let block = (!matrix.rows.is_empty()).then_some(Block::Matrix { matrix, rows: room.scenarios });
    Section::new(Kind::Matrix, title, block)
}

fn failures(summary: &Summary, found: &Found, room: Room) -> Section {
    let mut groups = found.failures.groups(summary);
    let is_empty = groups.is_empty();
    let totals = summary.summary.trials;
    groups.truncate(room.failures);
    let shown: u64 = groups.iter().map(|group| group.trials).sum();
    let more = (totals.fail + totals.error + totals.inconclusive + totals.skipped).saturating_sub(shown);
    let block = (!is_empty).then_some(Block::Failures(Failures { groups, more }));
    Section::new(Kind::Failures, "Conversations that did not pass", block)
}

fn throttling(summary: &Summary) -> Section {
    let lines = spending::throttling(&summary.summary);
    let block = (!lines.is_empty()).then_some(Block::Lines { kind: LineKind::Warning, lines });
    Section::new(Kind::Throttling, "Throttling and waits", block)
}
