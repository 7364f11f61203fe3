//! Sections of the document as the templates take them.

use serde::Serialize;

use crate::{
    document::{
        Block, Cell, LineKind, Look, Section,
        model::{Align, Column, Table},
    },
    figures::count,
};

#[derive(Serialize)]
pub(super) struct SectionView {
    id: &'static str,
    title: String,
    of: Option<String>,
    legend: Option<&'static str>,
    blocks: Vec<BlockView>,
}

#[derive(Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
enum BlockView {
    Table(TableView),
    Faults { faults: Vec<FaultView> },
    Lines { lines: Vec<String>, is_warning: bool },
    Warning { text: String },
    Note { text: String },
}

#[derive(Serialize)]
struct TableView {
    heads: Vec<CellView>,
    rows: Vec<Vec<CellView>>,
    total: Option<Vec<CellView>>,
    left_out: Option<String>,
}

#[derive(Serialize)]
struct CellView {
    text: String,
    /// The head of its column, for narrow pages.
    head: String,
    is_number: bool,
    is_code: bool,
    is_figure: bool,
    is_unknown: bool,
}

#[derive(Serialize)]
struct FaultView {
    trials: String,
    kind: &'static str,
    blame: &'static str,
}

impl SectionView {
    pub(super) fn of(section: &Section) -> Self {
        let Section { kind, title, of, blocks, legend } = section;
        Self {
            id: kind.id(),
            title: title.clone(),
            of: of.clone(),
            legend: *legend,
            blocks: blocks.iter().filter_map(block).collect(),
        }
    }
}

/// `None` for blocks that this page draws itself.
fn block(block: &Block) -> Option<BlockView> {
    Some(match block {
        Block::Matrix { .. } | Block::Failures(_) => return None,
        Block::Table(of) => BlockView::Table(table(of)),
        Block::Faults(faults) => BlockView::Faults {
            faults: faults
                .iter()
                .map(|of| FaultView { trials: count(of.trials), kind: of.kind, blame: of.blame })
                .collect(),
        },
        // A column of this page already shows what a remark says about a row.
        Block::Lines { kind: LineKind::Remark, .. } => return None,
        Block::Lines { kind, lines } => {
            BlockView::Lines { lines: lines.clone(), is_warning: *kind == LineKind::Warning }
        }
        Block::Warning(text) => BlockView::Warning { text: capitalized(text) },
        Block::Note(text) => BlockView::Note { text: text.clone() },
    })
}

fn table(of: &Table) -> TableView {
    let heads = of.columns.iter().map(|column| cell(&column.head, column)).collect();
    let row = |row: &Vec<Cell>| row.iter().zip(&of.columns).map(|(of, column)| cell(of, column)).collect();
    TableView {
        heads,
        rows: of.rows.iter().map(row).collect(),
        total: of.total.as_ref().map(row),
        left_out: of.left_out.clone(),
    }
}

fn cell(of: &Cell, column: &Column) -> CellView {
    CellView {
        text: of.text.clone(),
        head: capitalized(&column.head.text),
        is_number: column.align == Align::Right,
        is_code: of.look == Look::Code,
        is_figure: of.look == Look::Figure,
        is_unknown: of.look == Look::Unknown,
    }
}

/// `Reply p50`; `p95` stays as it is.
pub(super) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_uppercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_owned(),
    }
}
