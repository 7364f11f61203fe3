//! From a case to the scenario that is played.

use yaml::{Diagnostic, Document, Places, path::Path};

use super::{Case, Plan};
use crate::{Action, Format, Scenario, battery::Tester};

impl Plan {
    /// The scenario of one case: the group's document with the case's parameters put in, then the persona. `formats`
    /// are those that this build reads.
    ///
    /// Reads and checks the document anew, which costs more than playing a turn against a fast agent: keep the
    /// result for the other repeats of the case.
    ///
    /// # Errors
    /// Values of different axes do not go together, or the case is not of this plan.
    pub fn scenario(&self, case: &Case, formats: &[&'static dyn Format]) -> Result<Scenario, Vec<Diagnostic>> {
        let fault = |message: String| vec![Diagnostic::error(String::new(), 0, 0, message)];
        let group =
            self.groups.get(case.group).ok_or_else(|| fault(format!("case {} is not of this plan", case.id)))?;
        let mut value = group.document.clone();
        for (parameter, replacement) in &case.parameters {
            let path =
                Path::parse(parameter).map_err(|error| fault(format!("`{parameter}` is not a path: {error}")))?;
            path.set(&mut value, replacement.clone()).map_err(|miss| fault(miss.message))?;
        }
        let document = Document { path: group.source.path.clone(), value, places: Places::from_lines(&group.lines) };
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
        Ok(scenario)
    }
}
