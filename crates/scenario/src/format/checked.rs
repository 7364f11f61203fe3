//! A scenario must not lose its checks to a misspelt key.

use yaml::Diagnostic;

use super::script::Script;

/// `gabfest check` warns about a scenario without checks. It is an error if an unknown key may be a misspelt list of
/// checks: the scenario would judge nothing by mistake.
pub(super) fn refuse_misspelt_checks(
    script: Option<Script>,
    mut findings: Vec<Diagnostic>,
) -> (Option<Script>, Vec<Diagnostic>) {
    let unjudged = script.as_ref().map(|script| &script.scenario).filter(|scenario| !scenario.judges_something());
    let Some((scenario, place)) = unjudged.zip(findings.iter().position(may_hide_a_check)) else {
        return (script, findings);
    };
    let Diagnostic { path, line, column, .. } = &findings[place];
    let message = format!("the scenario `{}` has no check, and this key is unknown", scenario.name);
    let fault = Diagnostic::error(path, *line, *column, message)
        .with_help("checks are below `evaluations` or `expect`; correct the key or remove it");
    findings.insert(place + 1, fault);
    (None, findings)
}

fn may_hide_a_check(found: &Diagnostic) -> bool {
    let holds_checks = |meant: &str| meant.ends_with("evaluations") || meant.starts_with("expect") || meant == "text";
    found.unknown_key.as_ref().is_some_and(|key| key.meant.as_deref().is_none_or(holds_checks))
}
