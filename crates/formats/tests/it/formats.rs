//! docs/formats.md is written from rows that are read here, and from the JSON Schemas: this writes the page and compares.

mod battery;
mod eliza;
mod line;
mod messages;
mod outline;
mod page;
mod qna;
mod row;
mod skunit;

use self::row::Group;

/// All groups of rows, by the names that the template has for them.
const GROUPS: &[&[Group]] =
    &[eliza::GROUPS, skunit::GROUPS, qna::GROUPS, line::GROUPS, battery::GROUPS, messages::GROUPS];

const TEMPLATE: &str = include_str!("formats/page.md");

#[test]
fn every_row_is_read_as_it_says() {
    let mut wrong = Vec::new();
    for group in GROUPS.iter().copied().flatten() {
        for row in group.rows {
            let told = outline::told(group, row.written);
            let found = match (told.errors, told.warnings) {
                (0, 0) => row::Outcome::Fine,
                (0, _) => row::Outcome::Warned,
                _ => row::Outcome::Refused,
            };
            if found != row.outcome || told.lines.is_empty() {
                wrong.push(format!("{}: {}\n{found:?} {:#?}", group.name, row.says, told.lines));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_is_what_the_rows_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");
    let page = page::write(TEMPLATE, GROUPS);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(kept == page, "docs/formats.md is out of date: UPDATE_DOCS=1 cargo nextest run -p gabfest-formats formats");
}
