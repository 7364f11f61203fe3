//! Figures by role and model, with a limit on models: an agent that reports a new model each time must not grow a map.
//!
//! The first names in alphabetical order keep their own line, whatever the order in which they arrive. So parts may be
//! added up in any order, and a report that is rendered again is the same.

use std::{borrow::Cow, collections::BTreeMap};

use crate::{Role, bounds};

/// How many models of one role have their own line.
pub const MOST_MODELS: usize = 32;
/// The line of all other models of a role, as in metrics.
pub const OTHER: &str = "other";

/// The line of a role and model. Beyond the limit of names, `fold` merges a line into that of [`OTHER`].
pub(crate) fn line<'a, T: Default>(
    lines: &'a mut BTreeMap<(Role, String), T>,
    role: Role,
    model: &str,
    fold: impl FnOnce(&mut T, T),
) -> &'a mut T {
    let model = name(model);
    let key = (role, model.into_owned());
    if key.1 == OTHER || lines.contains_key(&key) {
        return lines.entry(key).or_default();
    }
    let other = (role, OTHER.to_owned());
    let mut own = lines.keys().filter(|(whose, model)| *whose == role && model != OTHER);
    if own.clone().count() < MOST_MODELS {
        return lines.entry(key).or_default();
    }
    match own.next_back().filter(|last| **last > key).cloned() {
        None => lines.entry(other).or_default(),
        Some(last) => {
            let gone = lines.remove(&last).unwrap_or_default();
            fold(lines.entry(other).or_default(), gone);
            lines.entry(key).or_default()
        }
    }
}

/// A model's name as records keep it.
#[must_use]
pub fn name(model: &str) -> Cow<'_, str> {
    bounds::short(model, bounds::LONGEST_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(names: impl IntoIterator<Item = String>) -> BTreeMap<(Role, String), u64> {
        let mut lines = BTreeMap::new();
        for name in names {
            *line(&mut lines, Role::Agent, &name, |sum, gone| *sum += gone) += 1;
        }
        lines
    }

    #[test]
    fn a_flood_of_names_is_a_few_lines_whatever_their_order() {
        let names = || (0..5_000_u32).map(|n| format!("m{:04}", n * 7_919 % 1_000));
        let forward = counted(names());
        let backward = counted(names().collect::<Vec<_>>().into_iter().rev());
        assert_eq!(forward, backward);
        assert_eq!(forward.len(), MOST_MODELS + 1);
        assert_eq!(forward.values().sum::<u64>(), 5_000, "nothing is lost");
        assert_eq!(forward[&(Role::Agent, "m0000".to_owned())], 5);
        assert_eq!(forward[&(Role::Agent, OTHER.to_owned())], 5_000 - 5 * MOST_MODELS as u64);
    }

    #[test]
    fn one_roles_names_take_no_room_from_another() {
        let mut lines = BTreeMap::new();
        for n in 0..1_000 {
            *line(&mut lines, Role::Agent, &format!("m{n}"), |sum: &mut u64, gone| *sum += gone) += 1;
        }
        *line(&mut lines, Role::Judge, "z", |sum, gone| *sum += gone) += 1;
        assert_eq!(lines[&(Role::Judge, "z".to_owned())], 1);
    }

    #[test]
    fn a_long_name_is_cut() {
        let lines = counted([format!("a{}", "é".repeat(10_000)), format!("a{}!", "é".repeat(10_000))]);
        let (key, count) = lines.first_key_value().expect("a line");
        assert!(key.1.len() <= bounds::LONGEST_NAME && key.1.starts_with("aé") && key.1.ends_with('…'), "{}", key.1);
        assert_eq!((lines.len(), *count), (1, 2));
    }
}
