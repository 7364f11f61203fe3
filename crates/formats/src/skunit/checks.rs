//! The checks of an answer.

use super::{
    assertion::Kind,
    json::Json,
    page::{Item, Page},
    structured,
    values::Values,
};
use crate::conditions;
use scenario::Check;
use yaml::Findings;

/// `expected`: the answer above the check, which `SemanticSimilar` falls back to.
pub(super) fn read(
    item: &Item<'_>,
    kind_name: &str,
    expected: Option<&str>,
    page: &Page<'_>,
    values: &Values,
    findings: &mut Findings,
) -> Option<Check> {
    let line = item.at.line;
    let kind = match Kind::named(kind_name) {
        Ok(kind) => kind,
        Err(help) => {
            findings.error(item.rest_at, format!("unknown assertion `{kind_name}`"));
            findings.help(help);
            return None;
        }
    };
    let written = values.fill(&item.text(&page.source));
    let body = match (kind, expected) {
        (Kind::Similar, Some(expected)) if written.is_empty() => expected.to_owned(),
        _ => written,
    };
    let check = match kind {
        Kind::JsonCheck => {
            if item.body.is_empty() {
                findings.error(item.at, "`JsonCheck` needs a JSON object");
                return None;
            }
            let json = Json::read(item, page, values, findings)?;
            structured::json_check(&json, findings).map(|rule| Check::new(rule, line))?
        }
        Kind::FunctionCall => {
            structured::function_call(item, page, values, findings).map(|rule| Check::new(rule, line))?
        }
        _ => plain(kind, std::slice::from_ref(&body), item, findings)?,
    };
    Some(Check { description: (!body.is_empty()).then_some(body), ..check })
}

fn plain(kind: Kind, values: &[String], item: &Item<'_>, findings: &mut Findings) -> Option<Check> {
    let check = kind.check(values, item.at.line).map_err(|message| findings.error(item.at, message)).ok()?;
    conditions::check_wording(&check, item.at, findings);
    Some(check)
}
