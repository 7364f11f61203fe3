//! The wording of conditions in formats that write them without `type: semantic_condition`.

use scenario::{
    Check, Rule,
    check::{ArgumentRule, wording},
};
use yaml::{Findings, Spot};

/// Warns of a negated condition, alone or as an alternative.
pub(crate) fn check_wording(check: &Check, spot: Spot, findings: &mut Findings) {
    match &check.rule {
        Rule::SemanticCondition(rule) => wording::check_criterion("the condition", &rule.condition, spot, findings),
        Rule::AnyOf(rule) => rule.checks.iter().for_each(|inner| check_wording(inner, spot, findings)),
        _ => {}
    }
}

/// The same for the rule of an argument.
pub(crate) fn check_argument_wording(rule: &ArgumentRule, spot: Spot, findings: &mut Findings) {
    match rule {
        ArgumentRule::Checks(checks) => checks.iter().for_each(|check| check_wording(check, spot, findings)),
        ArgumentRule::Fields { fields, .. } => {
            fields.iter().for_each(|(_, rule)| check_argument_wording(rule, spot, findings));
        }
        ArgumentRule::Equals(_) | ArgumentRule::Optional | ArgumentRule::Anything => {}
    }
}
