//! From a case to the scenario that is played.

use yaml::{Diagnostic, Document, Findings, path::Path};

use super::{Case, Plan, ROW};
use crate::{Action, Conversation, Format, Rule, Scenario, battery::Tester, placeholder, user::Part};

impl Plan {
    /// The scenario of one case: the group's document with the case's row and parameters filled in, then the persona.
    /// `formats` are the formats of this build.
    ///
    /// Reads and checks the document again, which takes longer than playing a turn against a fast agent: keep the
    /// result for the other repeats of the case.
    ///
    /// # Errors
    /// Values of different axes conflict, or the case is not of this plan.
    pub fn scenario(&self, case: &Case, formats: &[&'static dyn Format]) -> Result<Scenario, Vec<Diagnostic>> {
        let fault = |message: String| vec![Diagnostic::error(String::new(), 0, 0, message)];
        let group =
            self.groups.get(case.group).ok_or_else(|| fault(format!("case {} is not of this plan", case.id)))?;
        let mut value = group.document.clone();
        let row = match (&group.rows, case.row.and_then(|row| usize::try_from(row).ok())) {
            (Some(rows), Some(row)) => {
                let row = rows.get(row).ok_or_else(|| fault(format!("`{}` has no row {row}", rows.file())))?;
                Some((rows, row))
            }
            _ => None,
        };
        // A value of an axis is stronger than one of a row.
        let mut faults = row.as_ref().map_or_else(Vec::new, |(rows, row)| rows.fill_parameters(row, &mut value));
        let of_axes = case.parameters.iter().filter(|(parameter, _)| row.is_none() || parameter != ROW);
        for (parameter, replacement) in of_axes {
            let path =
                Path::parse(parameter).map_err(|error| fault(format!("`{parameter}` is not a path: {error}")))?;
            path.set(&mut value, replacement.clone()).map_err(|miss| fault(miss.message))?;
        }
        faults.extend(row.as_ref().map_or_else(Vec::new, |(rows, row)| rows.fill_texts(row, &mut value)));
        faults.extend(placeholder::replace_environment(&mut value, &group.environment));
        let document = Document::of_text(&group.source.path, value, &group.lines);
        if !faults.is_empty() {
            let mut findings = Findings::of(&document);
            placeholder::report(faults, &document, &mut findings);
            return Err(findings.into_sorted());
        }
        let format = formats.iter().find(|format| format.name() == group.format);
        let format =
            format.ok_or_else(|| fault(format!("this build reads no scenarios of the format `{}`", group.format)))?;
        let (script, findings) = format.read(&document);
        let Some(script) = script else { return Err(findings) };
        let mut scenario = script.scenario;
        scenario.source = group.source.clone();
        if let Some(name) = &case.persona {
            let persona = self
                .personas
                .get(name)
                .ok_or_else(|| fault(format!("the plan does not contain the persona `{name}`")))?;
            for step in &mut scenario.steps {
                match &mut step.action {
                    Action::Converse(conversation) => persona.dress(&mut conversation.simulator),
                    Action::Examine(battery) => {
                        if let Tester::Model(simulator) = &mut battery.tester {
                            persona.dress(simulator);
                        }
                    }
                    Action::Say { .. } | Action::Execute { .. } => {}
                }
            }
        }
        put_goals_in(&mut scenario);
        Ok(scenario)
    }
}

/// Gives the checks of a goal the goal that their conversation's user has now.
fn put_goals_in(scenario: &mut Scenario) {
    for step in &mut scenario.steps {
        let Action::Converse(conversation) = &mut step.action else { continue };
        let Conversation { simulator, turn_checks, final_checks, .. } = &mut **conversation;
        for check in turn_checks.iter_mut().chain(final_checks).chain(&mut step.checks) {
            let Rule::GoalReached(rule) = &mut check.rule else { continue };
            rule.goal.clone_from(&simulator.extras.goal);
            if rule.goal.is_empty() {
                rule.goal.push(Part::of_objective(&simulator.objective));
            }
        }
    }
}
