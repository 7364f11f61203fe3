//! The HTML page in a real browser: no errors, no dialogs, no requests, and at most three clicks from the failing
//! verdict to the failing turn.
//!
//! `GABFEST_REPORT_HTML` names a report to open instead of the sample, `GABFEST_SCREENSHOTS` a folder for pictures.
//! Without Chromium the tests print a message and pass, unless `GABFEST_BROWSER_REQUIRED` is set.

mod chromium;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use record::Verdict;
use report::html;

use self::chromium::{Chromium, Tab};
use crate::{
    hostile,
    sample::{self, Sample},
};

const MOST_CLICKS: u32 = 3;
const FAILING_CELL: &str = r#"[...document.querySelectorAll('[data-testid=cell]')].find(cell =>
    document.querySelector(cell.getAttribute('href'))?.matches('#conversations [data-testid=conversation]'))"#;

#[test]
fn from_the_failing_verdict_to_the_failing_turn() {
    let Some(chromium) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let page = env::var_os("GABFEST_REPORT_HTML").map_or_else(
        || write(&sample::night(), dir.path()),
        |path| fs::canonicalize(path).expect("GABFEST_REPORT_HTML exists"),
    );

    let mut tab = chromium.open(&page, true);
    assert!(tab.truth("document.querySelector('[data-testid=verdict] h1').textContent.trim().length > 0"));
    if tab.truth("!document.querySelector('[data-testid=first-failure]')") {
        eprintln!("this report has no conversation that did not pass: no way to one to be tried");
        tab.assert_quiet();
        return;
    }
    by_the_banner(&mut tab);
    by_the_table(&mut tab, &page);
    by_the_list(&mut tab, &page);
    by_the_keyboard(&mut tab, &page);
    filters_narrow(&mut tab, &page);
    a_group_is_a_filter(&mut tab, &page);
    an_open_conversation_is_in_the_address(&mut tab, &page);
    tab.look("dark", 390, 800);
    tab.load(&page);
    assert!(tab.truth("document.documentElement.scrollWidth <= innerWidth"), "a narrow page does not scroll sideways");
    let stacked = "[...document.querySelectorAll('.stacked')].every(table => table.scrollWidth <= table.parentElement.clientWidth)";
    assert!(tab.truth(stacked), "all figures by tag and by check are in sight on a narrow page");
    let in_sight = "[...document.querySelectorAll('.requirements')].every(table => table.scrollWidth <= table.parentElement.clientWidth)";
    assert!(tab.truth(in_sight), "all figures of a battery are in sight on a narrow page");
    tab.assert_quiet();

    let mut without_script = chromium.open(&page, false);
    assert!(without_script.truth("!document.documentElement.classList.contains('scripted')"), "no script ran");
    by_the_banner(&mut without_script);
    without_script.assert_quiet();
}

#[test]
fn the_banner_leads_to_a_failure_of_each_kind() {
    let Some(chromium) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    for (number, spot) in [(3, "failing-turn"), (5, "failing-judgment"), (7, "failing-judgment"), (8, "reason")] {
        let mut sample = sample::small();
        sample.trials.retain(|(trial, _)| trial.verdict == Verdict::Pass || trial.number == number);
        if spot == "reason" {
            // As if the connection broke before the first message.
            sample.trials.iter_mut().for_each(|(_, turns)| turns.clear());
        }
        let page = write(&sample, dir.path());
        for scripted in [true, false] {
            let mut tab = chromium.open(&page, scripted);
            let way = format!("the banner, scripted: {scripted}, to the {spot}");
            assert!(
                tab.truth(&format!("!!document.querySelector('#conversations #t{number} [data-testid={spot}]')")),
                "{way}"
            );
            by_the_banner(&mut tab);
            assert!(tab.truth(&format!("document.querySelector(location.hash).dataset.testid === '{spot}'")), "{way}");
            tab.assert_quiet();
        }
    }
}

#[test]
fn payloads_raise_nothing() {
    let Some(chromium) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let page = write(&hostile::sample(), dir.path());
    let mut tab = chromium.open(&page, true);
    tab.run("document.querySelectorAll('details').forEach(one => { one.open = true; })");
    tab.run("document.querySelectorAll('*').forEach(one => { one.dispatchEvent(new MouseEvent('mouseover', { bubbles: true })); one.focus?.(); })");
    tab.click(FAILING_CELL);
    tab.settle();
    assert!(
        tab.truth("document.querySelectorAll('img, iframe, math, base, form, object, embed, mglyph').length === 0")
    );
    assert!(tab.truth("document.scripts.length === 1"));
    assert!(tab.truth("document.body.textContent.includes('<script>alert(1)</script>')"), "what was said is shown");
    tab.assert_quiet();
}

/// Without this test, the silence of the others would prove nothing.
#[test]
fn a_page_that_is_not_quiet_is_noticed() {
    let Some(chromium) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">";
    for (page, heard) in [
        ("<p>quiet</p>".to_owned(), None),
        ("<script>alert(1)</script>".to_owned(), Some("javascriptDialogOpening")),
        ("<script>console.log('x')</script>".to_owned(), Some("consoleAPICalled")),
        ("<script>undefined.x</script>".to_owned(), Some("exceptionThrown")),
        (format!("{policy}<p style='color: red'>x</p>"), Some("ContentSecurityPolicyIssue")),
        (format!("{policy}<script>alert(1)</script>"), Some("ContentSecurityPolicyIssue")),
        ("<img src='missing.png'>".to_owned(), Some("requestWillBeSent")),
    ] {
        let path = dir.path().join("page.html");
        fs::write(&path, format!("<!doctype html><link rel=icon href='data:,'>{page}")).unwrap();
        let mut tab = chromium.open(&path, true);
        let noise = tab.noise().join("\n");
        match heard {
            None => assert_eq!(noise, ""),
            Some(heard) => assert!(noise.contains(heard), "{page}: {noise}"),
        }
    }
}

#[test]
fn pictures() {
    let (Some(folder), Some(chromium)) = (env::var_os("GABFEST_SCREENSHOTS").map(PathBuf::from), browser()) else {
        return;
    };
    fs::create_dir_all(&folder).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let page = env::var_os("GABFEST_REPORT_HTML").map_or_else(|| write(&sample::night(), dir.path()), PathBuf::from);
    let load = tempfile::tempdir().unwrap();
    let of_load = write(&sample::under_load(), load.path());
    for (scheme, width) in [("light", 1_280), ("dark", 1_280), ("light", 390), ("dark", 390)] {
        let mut tab = chromium.open(&fs::canonicalize(&of_load).unwrap(), true);
        tab.look(scheme, width, 900);
        tab.picture(&folder.join(format!("{scheme}-{width}-load.png")), true);
        let mut tab = chromium.open(&fs::canonicalize(&page).unwrap(), true);
        tab.look(scheme, width, 900);
        tab.picture(&folder.join(format!("{scheme}-{width}-whole.png")), true);
        if tab.truth("!!document.querySelector('[data-testid=first-failure]')") {
            tab.click("document.querySelector('[data-testid=first-failure]')");
            tab.settle();
            tab.picture(&folder.join(format!("{scheme}-{width}-turn.png")), false);
            tab.picture(&folder.join(format!("{scheme}-{width}-open.png")), true);
        }
    }
}

fn by_the_banner(tab: &mut Tab) {
    tab.click("document.querySelector('[data-testid=first-failure]')");
    let clicks = 1;
    assert_at_failure(tab, clicks, "the banner");
}

fn by_the_table(tab: &mut Tab, page: &Path) {
    tab.load(page);
    tab.click(FAILING_CELL);
    tab.settle();
    let mut clicks = 1;
    let link = "[...document.querySelectorAll('details.conversation[open] [data-testid=to-failure]')].find(one => one.checkVisibility())";
    if tab.truth(&format!("!!{link}")) {
        tab.click(link);
        clicks += 1;
    }
    assert_at_failure(tab, clicks, "the table");
}

fn by_the_list(tab: &mut Tab, page: &Path) {
    tab.load(page);
    tab.click("document.querySelector('#conversations details.conversation > summary')");
    tab.settle();
    let mut clicks = 1;
    let link = "[...document.querySelectorAll('#conversations details.conversation[open] [data-testid=to-failure]')].find(one => one.checkVisibility())";
    if tab.truth(&format!("!!{link}")) {
        tab.click(link);
        clicks += 1;
    }
    assert_at_failure(tab, clicks, "the list");
}

fn by_the_keyboard(tab: &mut Tab, page: &Path) {
    tab.load(page);
    tab.key("j");
    assert!(tab.truth("document.activeElement.closest('details.conversation') !== null"), "j goes to a conversation");
    tab.key("Enter");
    assert!(tab.truth("document.activeElement.closest('details.conversation').open"), "Enter opens it");
    tab.key("t");
    assert_at_failure(tab, 0, "the keyboard");
}

fn filters_narrow(tab: &mut Tab, page: &Path) {
    tab.load(page);
    tab.click("document.querySelector('.toolbar [data-kind]')");
    assert!(tab.truth(
        "[...document.querySelectorAll('#conversations details.conversation')].every(one => \
         one.hidden === (one.dataset.verdict !== document.querySelector('.toolbar [data-kind]').dataset.kind))"
    ));
    tab.key("Escape");
    assert!(
        tab.truth("[...document.querySelectorAll('#conversations details.conversation')].every(one => !one.hidden)")
    );
}

fn a_group_is_a_filter(tab: &mut Tab, page: &Path) {
    tab.load(page);
    tab.click("document.querySelector('[data-testid=group] > summary')");
    let button = "document.querySelector('[data-testid=group][open] [data-group-filter]')";
    assert!(tab.truth(&format!("!!{button}")), "the first group has conversations on the page");
    tab.click(button);
    assert!(tab.truth(&format!(
        "[...document.querySelectorAll('#conversations details.conversation')].every(one => \
         one.hidden === (one.dataset.group !== {button}.dataset.groupFilter))"
    )));
    assert!(tab.truth("!document.querySelector('[data-group-chip]').hidden"));
    tab.click("document.querySelector('[data-group-chip]')");
    assert!(
        tab.truth("[...document.querySelectorAll('#conversations details.conversation')].every(one => !one.hidden)")
    );
}

fn an_open_conversation_is_in_the_address(tab: &mut Tab, page: &Path) {
    tab.load(page);
    let first = "document.querySelectorAll('#conversations details.conversation')[0]";
    let last = "[...document.querySelectorAll('#conversations details.conversation')].at(-1)";
    if tab.truth(&format!("{first} === {last}")) {
        return;
    }
    tab.click(&format!("{first}.querySelector('summary')"));
    tab.settle();
    assert!(tab.becomes_true(&format!("{first}.open && location.hash === '#' + {first}.id")));
    tab.click(&format!("{last}.querySelector('summary')"));
    tab.settle();
    assert!(tab.becomes_true(&format!("{last}.open && location.hash === '#' + {last}.id")));
    tab.run("history.back()");
    assert!(tab.becomes_true(&format!("location.hash === '#' + {first}.id && {first}.open && !{last}.open")), "back");
    tab.run("history.back()");
    assert!(tab.becomes_true(&format!("location.hash === '' && !{first}.open")), "back to where it began");
    // The target of a copied address.
    tab.run(&format!("location.hash = {last}.id"));
    assert!(tab.becomes_true(&format!("{last}.open && !{last}.hidden")));
    // Once closed, it is no longer part of the address.
    tab.settle();
    tab.click(&format!("{last}.querySelector('summary')"));
    assert!(tab.becomes_true(&format!("!{last}.open && location.hash === ''")));
}

/// Checks that the failure of a conversation is open and visible: its failing turn, or else the judgment at its end, or
/// else, if nothing was judged, the reason.
fn assert_at_failure(tab: &mut Tab, clicks: u32, way: &str) {
    assert!(clicks <= MOST_CLICKS, "{clicks} clicks by {way}");
    let within = "[...document.querySelectorAll('#conversations details.conversation')].some(conversation => {
        const spot = ['failing-turn', 'failing-judgment', 'reason']
            .map(id => conversation.querySelector(`[data-testid=${id}]`)).find(spot => spot);
        const box = spot.getBoundingClientRect();
        return spot.checkVisibility() && box.height > 0 && box.bottom > 40 && box.top < innerHeight - 40;
    })";
    assert!(tab.becomes_true(within), "no failure in sight after {clicks} clicks by {way}");
}

fn write(sample: &Sample, dir: &Path) -> PathBuf {
    let path = dir.join("report.html");
    fs::write(&path, html::render(&sample.summary, &sample.selection()).unwrap()).unwrap();
    path
}

fn browser() -> Option<Chromium> {
    let found = Chromium::start();
    if found.is_none() {
        assert!(env::var_os("GABFEST_BROWSER_REQUIRED").is_none(), "no Chromium is installed");
        eprintln!("SKIPPED: no Chromium is installed, so the page was not opened in a browser");
    }
    found
}
