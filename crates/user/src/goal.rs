//! The parts of the goal and the simulated user's beliefs about them.

use scenario::user::Part;

/// The user's belief about a part. Checks decide whether it is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Status {
    #[default]
    Open,
    /// The user has begun to ask for it.
    Attempted,
    Done,
}

impl Status {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Attempted => "attempted",
            Self::Done => "done",
        }
    }
}

/// The goal's parts with their status. Empty for a scenario without parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Goal {
    /// One for each part, in the order of the scenario.
    statuses: Vec<Status>,
    /// Exchanges since a part was done, or since the beginning.
    stale: u32,
}

impl Goal {
    pub(crate) fn new(parts: &[Part]) -> Self {
        Self { statuses: vec![Status::Open; parts.len()], stale: 0 }
    }

    /// Each part with its status, and whether it waits for another one.
    pub(crate) fn parts<'a>(&'a self, parts: &'a [Part]) -> impl Iterator<Item = (&'a Part, Status, bool)> {
        parts.iter().zip(&self.statuses).map(|(part, status)| (part, *status, self.is_blocked(parts, part)))
    }

    /// The first part that the user can work on.
    pub(crate) fn next<'a>(&self, parts: &'a [Part]) -> Option<&'a Part> {
        Some(&parts[self.next_index(parts)?])
    }

    fn next_index(&self, parts: &[Part]) -> Option<usize> {
        parts
            .iter()
            .position(|part| self.status_of(parts, &part.id) != Some(Status::Done) && !self.is_blocked(parts, part))
    }

    /// The agent has answered again.
    pub(crate) fn was_answered(&mut self) {
        self.stale += 1;
    }

    /// The user has sent a message: the first part that it can work on is attempted from now on.
    pub(crate) fn was_pursued(&mut self, parts: &[Part]) {
        if let Some(status) = self.next_index(parts).and_then(|index| self.statuses.get_mut(index)) {
            *status = Status::Attempted;
        }
    }

    /// The user believes that these parts are done. A part whose turn has not come stays open.
    pub(crate) fn believe_done(&mut self, parts: &[Part], done: &[String]) {
        for (index, part) in parts.iter().enumerate() {
            if done.contains(&part.id) && self.statuses[index] != Status::Done && !self.is_blocked(parts, part) {
                self.statuses[index] = Status::Done;
                self.stale = 0;
            }
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        !self.statuses.is_empty() && self.statuses.iter().all(|status| *status == Status::Done)
    }

    /// Whether this many exchanges made no progress. A goal without parts has no progress.
    pub(crate) fn is_hopeless(&self, patience: u32) -> bool {
        !self.statuses.is_empty() && !self.is_done() && self.stale >= patience
    }

    fn is_blocked(&self, parts: &[Part], part: &Part) -> bool {
        part.after.iter().any(|before| self.status_of(parts, before) != Some(Status::Done))
    }

    fn status_of(&self, parts: &[Part], id: &str) -> Option<Status> {
        let index = parts.iter().position(|part| part.id == id)?;
        self.statuses.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(id: &str, after: &[&str]) -> Part {
        let after = after.iter().map(|id| (*id).to_owned()).collect();
        Part { id: id.to_owned(), text: id.to_owned(), after, done_when: None }
    }

    fn shown(goal: &Goal, parts: &[Part]) -> String {
        let each = goal.parts(parts).map(|(part, status, blocked)| {
            format!("{} {}{}", part.id, status.name(), if blocked { " blocked" } else { "" })
        });
        each.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn parts_are_pursued_in_their_order_and_done_once() {
        let parts = [part("refund", &[]), part("mail", &["refund"])];
        let mut goal = Goal::new(&parts);
        assert_eq!(shown(&goal, &parts), "refund open, mail open blocked");
        goal.was_pursued(&parts);
        goal.believe_done(&parts, &["mail".to_owned()]);
        assert_eq!(shown(&goal, &parts), "refund attempted, mail open blocked");
        goal.believe_done(&parts, &["refund".to_owned()]);
        goal.was_pursued(&parts);
        assert_eq!(shown(&goal, &parts), "refund done, mail attempted");
        assert!(!goal.is_done());
        goal.believe_done(&parts, &["mail".to_owned(), "refund".to_owned()]);
        assert!(goal.is_done());
    }

    #[test]
    fn patience_ends_without_progress() {
        let parts = [part("a", &[]), part("b", &[])];
        let mut goal = Goal::new(&parts);
        goal.was_answered();
        goal.was_answered();
        assert!(goal.is_hopeless(2) && !goal.is_hopeless(3));
        goal.believe_done(&parts, &["a".to_owned()]);
        assert!(!goal.is_hopeless(1));
        goal.was_answered();
        // The same part again is no progress.
        goal.believe_done(&parts, &["a".to_owned()]);
        assert!(goal.is_hopeless(1));
        let mut without_parts = Goal::new(&[]);
        without_parts.was_answered();
        assert!(!without_parts.is_hopeless(1) && !without_parts.is_done());
    }
}
