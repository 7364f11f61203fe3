//! The parts of a document: sections, tables, lines and notes. All texts are plain: a renderer escapes them for its form.

use crate::{failures::Group, matrix::Matrix};

#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) kind: Kind,
    pub(crate) title: String,
    /// A part of the title that is a name from a scenario file, such as the path of an axis.
    pub(crate) of: Option<String>,
    pub(crate) blocks: Vec<Block>,
    /// The meaning of the figures, for pages with room for it.
    pub(crate) legend: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Matrix,
    ByAgent,
    ByTag,
    ByAxis,
    ByScenario,
    ByPersona,
    /// Times by the number of the turn.
    ByTurn,
    /// Times of streamed replies by role and model.
    Streaming,
    ByCheck,
    /// Checks with a name.
    Metrics,
    Battery,
    Failures,
    /// Cases that no gate depends on.
    Quarantine,
    /// Which conversations were not kept.
    Transcripts,
    /// Verdicts by length, and judges that only inform.
    Judges,
    /// What people would have answered.
    Corrected,
    /// Whether the judge is as in the nights before.
    Sentinels,
    /// Of the user's own, and which of them are unstable.
    CustomChecks,
    Informing,
    SimulatedUser,
    Load,
    /// For the highest load that meets the requirements.
    LoadSearch,
    /// What changed while the pace of a load was steady.
    Drift,
    /// Pauses, stops, other decisions about the run, and what was lost.
    Events,
    /// Quality by offered load.
    LoadSteps,
    Latency,
    Throttling,
    /// Rate limits that providers named.
    NamedLimits,
    Spend,
    /// Failures that count against the agent, by kind.
    AgentFailures,
    Faults,
    /// With an earlier run, in one section.
    Comparison,
    /// Of two runs: the cases that changed.
    Changes,
    ComparedFigures,
    /// Of two runs: what differs besides the agent.
    Contract,
    /// Of a history: its runs, or the nights of a case.
    Nights,
    /// Of a history: which cases are stable, flaky or broken.
    Ledger,
    /// Of a history: the same failure over nights.
    Recurring,
    /// Whose noise a run has: its parts, what to do, what votes change, and what counts in nothing.
    Noise,
    Advice,
    Votes,
    LeftOut,
}

impl Kind {
    /// Of its place in HTML.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::ByAgent => "by-agent",
            Self::ByTag => "by-tag",
            Self::ByAxis => "by-axis",
            Self::ByScenario => "by-scenario",
            Self::ByPersona => "by-persona",
            Self::ByTurn => "by-turn",
            Self::Streaming => "streaming",
            Self::ByCheck => "by-check",
            Self::Metrics => "named-checks",
            Self::Battery => "battery",
            Self::Failures => "conversations",
            Self::Quarantine => "quarantine",
            Self::Transcripts => "transcripts",
            Self::Judges => "judges",
            Self::Corrected => "corrected",
            Self::Sentinels => "sentinels",
            Self::CustomChecks => "custom-checks",
            Self::Informing => "informing",
            Self::SimulatedUser => "simulated-user",
            Self::Load => "load",
            Self::LoadSearch => "load-search",
            Self::Drift => "drift",
            Self::Events => "events",
            Self::LoadSteps => "quality-by-load",
            Self::Latency => "latency",
            Self::Throttling => "throttling",
            Self::NamedLimits => "named-limits",
            Self::Spend => "spend",
            Self::AgentFailures => "agent-failures",
            Self::Faults => "infrastructure",
            Self::Comparison => "comparison",
            Self::Changes => "changes",
            Self::ComparedFigures => "compared-figures",
            Self::Contract => "contract",
            Self::Nights => "nights",
            Self::Ledger => "ledger",
            Self::Recurring => "recurring-failures",
            Self::Noise => "noise",
            Self::Advice => "advice",
            Self::Votes => "votes",
            Self::LeftOut => "left-out",
        }
    }
}

#[derive(Debug)]
pub(crate) enum Block {
    /// Of the rows at most so many are shown.
    Matrix {
        matrix: Matrix,
        rows: usize,
    },
    Table(Table),
    Failures(Failures),
    Faults(Vec<Fault>),
    Lines {
        kind: LineKind,
        lines: Vec<String>,
    },
    Warning(String),
    Note(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    Item,
    /// An item that a reader should not miss.
    Warning,
    /// About a row of the table above.
    Remark,
}

/// Groups of similar failures.
#[derive(Debug)]
pub(crate) struct Failures {
    pub(crate) groups: Vec<Group>,
    /// Trials that did not pass and are in no group.
    pub(crate) more: u64,
}

/// Trials that failed for a reason that is not the agent's.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) trials: u64,
    pub(crate) kind: &'static str,
    pub(crate) blame: &'static str,
}

#[derive(Debug)]
pub(crate) struct Table {
    /// The subject of the table, in a section with several tables.
    pub(crate) caption: Option<Caption>,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    pub(crate) total: Option<Row>,
    /// `3 more scenarios`, if there was no room for all rows.
    pub(crate) left_out: Option<String>,
}

/// `Requirements of refund / polite`.
#[derive(Debug)]
pub(crate) struct Caption {
    pub(crate) words: &'static str,
    pub(crate) name: String,
}

#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) head: Cell,
    pub(crate) align: Align,
    /// On a narrow page, columns with a rank are dropped, the lowest first.
    pub(crate) rank: Option<u8>,
    /// On a narrow page, texts of this column may be cut.
    pub(crate) may_cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

pub(crate) type Row = Vec<Cell>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) look: Look,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// From outside: a renderer escapes it.
    Text,
    /// From outside, as code.
    Code,
    /// A number or a fixed word of gabfest's own, which needs no escaping.
    Figure,
    /// An unknown figure.
    Unknown,
}

impl Section {
    pub(super) fn new(kind: Kind, title: &str, blocks: impl IntoIterator<Item = Block>) -> Self {
        Self { kind, title: title.to_owned(), of: None, blocks: blocks.into_iter().collect(), legend: None }
    }
}

impl Table {
    pub(super) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { caption: None, columns: columns.into_iter().collect(), rows: Vec::new(), total: None, left_out: None }
    }
}

impl Column {
    pub(super) fn left(head: &str) -> Self {
        Self { head: Cell::figure(head), align: Align::Left, rank: None, may_cut: false }
    }

    pub(super) fn right(head: &str) -> Self {
        Self { align: Align::Right, ..Self::left(head) }
    }

    /// Drops the column on a narrow page, the lowest rank first.
    pub(super) fn rank(self, rank: u8) -> Self {
        Self { rank: Some(rank), ..self }
    }

    pub(super) fn may_cut(self) -> Self {
        Self { may_cut: true, ..self }
    }
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), look: Look::Text }
    }

    pub(super) fn code(text: impl Into<String>) -> Self {
        Self { text: text.into(), look: Look::Code }
    }

    pub(super) fn figure(text: impl Into<String>) -> Self {
        Self { text: text.into(), look: Look::Figure }
    }

    /// A figure that may be unknown.
    pub(super) fn known(text: Option<String>) -> Self {
        text.map_or_else(|| Self { text: "unknown".to_owned(), look: Look::Unknown }, Self::figure)
    }
}
