//! Plain lines: what the user's model chooses from after a draft that spoke as the other side.
//!
//! Everybody can say them: what the other side asked for, the wish, and that something is unknown or unclear. Asked to write freely
//! once more, a model with 1.5 billion parameters spoke as the other side in 6 of 8 drafts; choosing from these lines, in none of 8
//! (bench/results/2026-11-24-believe.md).

use record::Turn;
use scenario::{
    conversation::Simulator,
    user::{Extras, Fact, Tell},
};
use whatlang::Lang;

use crate::{faults, history::one_line};

/// The words around the wish and a fact, in one language.
struct Phrases {
    unknown: &'static str,
    unclear: &'static str,
    wish: &'static str,
}

const ENGLISH: Phrases =
    Phrases { unknown: "I don't know.", unclear: "I don't understand that.", wish: "I still want this" };
const GERMAN: Phrases =
    Phrases { unknown: "Das weiß ich nicht.", unclear: "Das verstehe ich nicht.", wish: "Ich möchte immer noch das" };
const SPANISH: Phrases = Phrases { unknown: "No lo sé.", unclear: "No lo entiendo.", wish: "Todavía quiero esto" };

/// The lines that the person has not said yet, or all of them if it has said all. `wish`: what it wants now.
pub(crate) fn lines(simulator: &Simulator, turns: &[Turn], wish: &str) -> Vec<String> {
    let phrases = phrases(simulator);
    let heard = turns.last().and_then(|turn| turn.agent.as_deref()).unwrap_or_default();
    let mut lines = answers(&simulator.extras, heard);
    lines.extend([phrases.unknown, phrases.unclear].map(str::to_owned));
    lines.push(format!("{}: {}.", phrases.wish, one_line(wish).trim_end_matches('.')));
    let is_new = |line: &String| !turns.iter().any(|turn| is_same(&turn.user, line));
    let new: Vec<String> = lines.iter().filter(|line| is_new(line)).cloned().collect();
    if new.is_empty() { lines } else { new }
}

/// The facts that the other side has just asked for.
fn answers(extras: &Extras, agent: &str) -> Vec<String> {
    let is_told = |name: &str, fact: &Fact| match fact.tell {
        Tell::First => true,
        Tell::Asked => faults::asks_for(agent, name, &fact.asked_by),
        Tell::Never => false,
    };
    let told = extras.facts.iter().filter(|(name, fact)| is_told(name, fact));
    told.map(|(name, fact)| format!("{name}: {}", one_line(&fact.value))).collect()
}

/// Those of the user's language, or else English ones, which a model can translate.
fn phrases(simulator: &Simulator) -> &'static Phrases {
    let language = match simulator.extras.language.as_deref() {
        Some(language) => faults::language(language),
        None => whatlang::detect(&simulator.objective).filter(whatlang::Info::is_reliable).map(|found| found.lang()),
    };
    match language {
        Some(Lang::Deu) => &GERMAN,
        Some(Lang::Spa) => &SPANISH,
        _ => &ENGLISH,
    }
}

fn is_same(said: &str, line: &str) -> bool {
    said.trim().eq_ignore_ascii_case(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::user::tests::{simulator, turn};

    #[test]
    fn lines_are_in_the_users_language_and_what_was_said_is_left_out() {
        for (language, unknown) in [("de-CH", "Das weiß ich nicht."), ("Spanish", "No lo sé."), ("fr", "I don't know.")]
        {
            let simulator = simulator(json!({ "language": language }));
            assert_eq!(lines(&simulator, &[], "x")[0], unknown);
        }
        let simulator = simulator(json!({}));
        let turns = [turn(1, "I don't know.", "Hm."), turn(2, "I still want this: the money.", "Hm.")];
        assert_eq!(lines(&simulator, &turns, "the money."), ["I don't understand that."]);
        let all = [&turns[..], &[turn(3, "i don't understand that.", "Hm.")]].concat();
        assert_eq!(lines(&simulator, &all, "the money.").len(), 3, "nothing is left");
    }
}
