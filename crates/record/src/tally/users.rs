//! How often the simulated user is at fault: by its model, by persona, and in all.

use std::collections::BTreeMap;

use crate::{
    Blame, Role, Trial, Verdict, by_model,
    user_fault::{FaultKind, UserConduct},
};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Users {
    pub total: UserCounts,
    /// The first names in alphabetical order, and `other` for the rest.
    pub models: BTreeMap<(Role, String), UserCounts>,
    /// Likewise.
    pub personas: BTreeMap<(Role, String), UserCounts>,
    pub despite: FaultyTrials,
}

/// Trials with lines of a simulated user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserCounts {
    pub trials: u64,
    /// Those in which the agent got a critical fault.
    pub faulty_trials: u64,
    /// Lines of its model.
    pub lines: u64,
    /// Those that `self_check: model` could not judge.
    pub unknown: u64,
    pub faults: BTreeMap<FaultKind, FaultyLines>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultyLines {
    /// Lines of which a draft was refused.
    pub refused: u64,
    /// Lines that the agent got.
    pub sent: u64,
}

/// How the trials with a critical fault would count without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultyTrials {
    pub trials: u64,
    pub pass: u64,
    /// FAIL, or an error of the agent.
    pub held_against_agent: u64,
}

impl Users {
    pub(super) fn add(&mut self, trial: &Trial) {
        let Some(conduct) = trial.user.as_deref() else { return };
        if let Some(despite) = conduct.despite_fault {
            let is_held = despite.verdict == Verdict::Fail
                || despite.verdict == Verdict::Error && despite.blame == Some(Blame::Agent);
            self.despite.trials += 1;
            self.despite.pass += u64::from(despite.verdict == Verdict::Pass);
            self.despite.held_against_agent += u64::from(is_held);
        }
        self.total.add(conduct);
        let merge = |sum: &mut UserCounts, gone: UserCounts| sum.merge(&gone);
        if let Some(model) = trial.user_model() {
            by_model::line(&mut self.models, Role::UserSim, model, merge).add(conduct);
        }
        if let Some(persona) = &conduct.persona {
            by_model::line(&mut self.personas, Role::UserSim, persona, merge).add(conduct);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        for (own, others) in [(&mut self.models, &other.models), (&mut self.personas, &other.personas)] {
            for ((role, name), counts) in others {
                by_model::line(own, *role, name, |sum: &mut UserCounts, gone| sum.merge(&gone)).merge(counts);
            }
        }
        self.despite.trials += other.despite.trials;
        self.despite.pass += other.despite.pass;
        self.despite.held_against_agent += other.despite.held_against_agent;
    }
}

impl UserCounts {
    fn add(&mut self, conduct: &UserConduct) {
        self.trials += 1;
        self.faulty_trials += u64::from(conduct.despite_fault.is_some());
        self.lines += u64::from(conduct.lines);
        self.unknown += u64::from(conduct.unknown);
        for count in &conduct.faults {
            let sum = self.faults.entry(count.kind).or_default();
            sum.refused += u64::from(count.refused);
            sum.sent += u64::from(count.sent);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.trials += other.trials;
        self.faulty_trials += other.faulty_trials;
        self.lines += other.lines;
        self.unknown += other.unknown;
        for (kind, lines) in &other.faults {
            let sum = self.faults.entry(*kind).or_default();
            sum.refused += lines.refused;
            sum.sent += lines.sent;
        }
    }
}

#[cfg(test)]
mod tests {
    use scenario::{CaseId, TrialId};

    use super::*;
    use crate::{
        Failure, FailureKind, Tally,
        call::SpendLine,
        user_fault::{DespiteFault, KindCount},
    };

    fn trial(model: &str, persona: Option<&str>, refused: u32, despite: Option<(Verdict, Option<Blame>)>) -> Trial {
        let planned = scenario::Trial {
            number: 0,
            id: TrialId::new("t"),
            case: 0,
            case_id: CaseId::new("c"),
            repeat: 0,
            seed: 1,
        };
        let failure = Failure::new(FailureKind::SimulatorFault, "it spoke as the agent");
        let mut trial = Trial::unplayed(&planned, 1, Verdict::Inconclusive, failure);
        trial.spend.add_line(Role::UserSim, "a-rare-one", SpendLine { calls: 1, ..SpendLine::default() });
        trial.spend.add_line(Role::UserSim, model, SpendLine { calls: 3, ..SpendLine::default() });
        trial.user = Some(Box::new(UserConduct {
            persona: persona.map(str::to_owned),
            lines: 4,
            unknown: 1,
            faults: vec![KindCount { kind: FaultKind::Leak, refused, sent: 1 }],
            despite_fault: despite.map(|(verdict, blame)| DespiteFault { verdict, blame }),
        }));
        trial
    }

    #[test]
    fn each_model_and_persona_has_the_faults_of_its_trials() {
        let trials = [
            trial("small", Some("shy"), 2, Some((Verdict::Pass, None))),
            trial("small", None, 0, Some((Verdict::Error, Some(Blame::Agent)))),
            trial("large", Some("shy"), 1, Some((Verdict::Error, Some(Blame::Judge)))),
            trial("large", Some("bold"), 0, None),
        ];
        let (mut whole, mut first, mut last) = (Tally::default(), Tally::default(), Tally::default());
        for (index, trial) in trials.iter().enumerate() {
            whole.add(trial);
            if index < 2 { first.add(trial) } else { last.add(trial) }
        }
        last.merge(&first);
        assert_eq!(last.users, whole.users, "parts merge in any order");
        let shown = |counts: &UserCounts| {
            let leaks = counts.faults[&FaultKind::Leak];
            (counts.trials, counts.faulty_trials, counts.lines, counts.unknown, leaks.refused, leaks.sent)
        };
        assert_eq!(shown(&whole.users.total), (4, 3, 16, 4, 3, 4));
        let by = |names: &BTreeMap<(Role, String), UserCounts>| -> Vec<_> {
            names.iter().map(|((_, name), counts)| (name.clone(), shown(counts))).collect()
        };
        assert_eq!(
            by(&whole.users.models),
            [("large".to_owned(), (2, 1, 8, 2, 1, 2)), ("small".to_owned(), (2, 2, 8, 2, 2, 2))]
        );
        assert_eq!(
            by(&whole.users.personas),
            [("bold".to_owned(), (1, 0, 4, 1, 0, 1)), ("shy".to_owned(), (2, 2, 8, 2, 3, 2))]
        );
        assert_eq!(whole.users.despite, FaultyTrials { trials: 3, pass: 1, held_against_agent: 1 });
    }
}
