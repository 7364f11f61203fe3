//! The prompt of the simulated user: who it is, what was said, and whose turn it is.
//!
//! The last turns are chat messages with swapped roles: the agent's words come from `user`, the person's own from
//! `assistant`. Given a script instead, small models go on writing both sides.

use llm::Message;
use record::Turn;
use scenario::conversation::Simulator;

/// How many turns are shown in full. Earlier ones are summarised.
const RECENT_TURNS: usize = 3;
/// Characters of one message: a very long answer would fill the model's context window.
const LONGEST_MESSAGE: usize = 6_000;
/// Characters of one side of one turn in the summary.
const LONGEST_SENTENCE: usize = 100;
/// Characters of the summary. The oldest turns are dropped first.
const LONGEST_SUMMARY: usize = 1_600;

/// Small models keep to a named role better than to "the user".
const WHO: &str = "You are a customer who is chatting with a support agent. You are not an assistant.";
const RULES: &str = "\
Say what you want and answer the agent's questions; make up plausible details. Never offer help, never ask for the \
agent's details. Reply with only your own next words: no name in front, no quotation marks, 20 to 100 words.";

/// Some models refuse a conversation that begins with their own words.
const BEGIN: &str = "Begin the conversation.";
const GO_ON: &str = "Go on with the conversation.";

#[must_use]
pub fn messages(simulator: &Simulator, turns: &[Turn]) -> Vec<Message> {
    let (earlier, recent) = turns.split_at(turns.len().saturating_sub(RECENT_TURNS));
    let mut system = profile(simulator);
    if !earlier.is_empty() {
        system.push_str("\n\nEarlier in this conversation:\n");
        system.push_str(&summary(earlier));
    }
    let mut messages = vec![Message::system(system), Message::user(if earlier.is_empty() { BEGIN } else { GO_ON })];
    for (index, turn) in recent.iter().enumerate() {
        messages.push(Message::assistant(cut(&turn.user, LONGEST_MESSAGE)));
        let heard = cut(&heard(turn), LONGEST_MESSAGE);
        let is_last = index + 1 == recent.len();
        messages.push(Message::user(if is_last { question(simulator, &heard) } else { heard }));
    }
    messages
}

/// Small models follow the last message: given the agent's bare words, they answer as an assistant would.
fn question(simulator: &Simulator, heard: &str) -> String {
    let objective = one_line(&simulator.objective);
    format!(
        "The agent says to you: \"{heard}\"\n\nYou are the customer; you want: {objective}. What do you tell the agent?"
    )
}

fn profile(simulator: &Simulator) -> String {
    let mut lines = vec![
        WHO.to_owned(),
        String::new(),
        format!("Persona: {}", one_line(&simulator.persona)),
        format!("Objective: {}", one_line(&simulator.objective)),
        format!("Style: {}", simulator.style.as_deref().map_or_else(|| "natural".to_owned(), one_line)),
        format!("Knowledge: {}", simulator.knowledge_level.name()),
    ];
    if let Some(mood) = &simulator.emotional_state {
        lines.push(format!("Mood: {}", one_line(mood)));
    }
    if !simulator.constraints.is_empty() {
        let constraints: Vec<String> = simulator.constraints.iter().map(|constraint| one_line(constraint)).collect();
        lines.push(format!("Constraints: {}", constraints.join("; ")));
    }
    lines.push(String::new());
    lines.push(RULES.to_owned());
    lines.join("\n")
}

/// The first sentence of each side of each turn; the newest turns are kept first.
fn summary(turns: &[Turn]) -> String {
    let mut lines = Vec::new();
    let mut length = 0;
    for (index, turn) in turns.iter().enumerate().rev() {
        let number = index + 1;
        let line =
            format!("Turn {number}. You: {} Agent: {}", first_sentence(&turn.user), first_sentence(&heard(turn)));
        length += line.chars().count() + 1;
        if length > LONGEST_SUMMARY {
            lines.push(format!("({number} earlier turns are left out.)"));
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    lines.join("\n")
}

/// What the agent let the person see.
fn heard(turn: &Turn) -> String {
    let words = turn.said().unwrap_or_default();
    if !words.trim().is_empty() {
        return words.trim().to_owned();
    }
    let done: Vec<&str> =
        turn.tool_calls.iter().map(|call| call.name.as_str()).chain(turn.actions.iter().map(String::as_str)).collect();
    if done.is_empty() {
        "(The agent says nothing.)".to_owned()
    } else {
        format!("(The agent does: {}.)", done.join(", "))
    }
}

fn first_sentence(text: &str) -> String {
    let line = one_line(text);
    let end = line
        .char_indices()
        .find(|(at, character)| {
            let after = line[at + character.len_utf8()..].chars().next();
            matches!(character, '.' | '!' | '?' | '…') && after.is_none_or(char::is_whitespace)
        })
        .map_or(line.len(), |(at, character)| at + character.len_utf8());
    cut(&line[..end], LONGEST_SENTENCE)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use record::turn::{Origin, ToolCall};
    use scenario::conversation::KnowledgeLevel;

    use super::*;

    fn simulator() -> Simulator {
        Simulator {
            model_type: "TEXT_LARGE".to_owned(),
            temperature: 0.7,
            max_tokens: 200,
            persona: "polite customer\n  with a billing question".to_owned(),
            objective: "find out why charged twice".to_owned(),
            style: None,
            constraints: Vec::new(),
            emotional_state: None,
            knowledge_level: KnowledgeLevel::Intermediate,
        }
    }

    fn turn(number: u32, user: &str, agent: Option<&str>) -> Turn {
        Turn {
            number,
            step: 1,
            speaker: Origin::Simulated,
            user: user.to_owned(),
            agent: agent.map(str::to_owned),
            messages: Vec::new(),
            exit_code: None,
            tool_calls: Vec::new(),
            actions: Vec::new(),
            started_micros: 0,
            duration_micros: 0,
            calls: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn spoken(messages: &[Message]) -> Vec<(&'static str, &str)> {
        messages.iter().map(|message| (message.role.name(), message.content.as_str())).collect()
    }

    #[test]
    fn a_short_conversation_is_shown_as_it_was_with_the_roles_turned_round() {
        let turns = [turn(1, "Hi, I was charged twice.", Some("Sorry! Which month?"))];
        assert_eq!(
            spoken(&messages(&simulator(), &turns)),
            [
                (
                    "system",
                    "You are a customer who is chatting with a support agent. You are not an assistant.\n\
                     \n\
                     Persona: polite customer with a billing question\n\
                     Objective: find out why charged twice\n\
                     Style: natural\n\
                     Knowledge: intermediate\n\
                     \n\
                     Say what you want and answer the agent's questions; make up plausible details. Never offer help, \
                     never ask for the agent's details. Reply with only your own next words: no name in front, no \
                     quotation marks, 20 to 100 words."
                ),
                ("user", "Begin the conversation."),
                ("assistant", "Hi, I was charged twice."),
                (
                    "user",
                    "The agent says to you: \"Sorry! Which month?\"\n\nYou are the customer; you want: find out why \
                     charged twice. What do you tell the agent?"
                ),
            ]
        );
    }

    #[test]
    fn a_long_conversation_is_summed_up_before_its_last_three_turns() {
        let full = Simulator {
            style: Some("curt".to_owned()),
            constraints: vec!["never shout".to_owned(), "stay\non topic".to_owned()],
            emotional_state: Some("angry".to_owned()),
            knowledge_level: KnowledgeLevel::Expert,
            ..simulator()
        };
        let turns = [
            turn(4, "Version 1.2 fails. It always did.", Some("Did you restart? Try that.")),
            turn(5, &"long ".repeat(60), None),
            turn(6, "three", Some("3")),
            turn(7, "four", Some("4")),
            turn(8, "five", Some(" ")),
        ];
        let messages = messages(&full, &turns);
        let system = &messages[0].content;
        assert!(
            system.contains(
                "Style: curt\nKnowledge: expert\nMood: angry\nConstraints: never shout; stay on topic\n\nSay what"
            ),
            "{system}"
        );
        let earlier = system.split_once("\n\nEarlier in this conversation:\n").expect("a summary").1;
        let long = format!("{}…", "long ".repeat(20).trim_end());
        assert_eq!(
            earlier,
            format!(
                "Turn 1. You: Version 1.2 fails. Agent: Did you restart?\n\
                 Turn 2. You: {long} Agent: (The agent says nothing.)"
            )
        );
        assert_eq!(
            spoken(&messages[1..]),
            [
                ("user", "Go on with the conversation."),
                ("assistant", "three"),
                ("user", "3"),
                ("assistant", "four"),
                ("user", "4"),
                ("assistant", "five"),
                (
                    "user",
                    "The agent says to you: \"(The agent says nothing.)\"\n\nYou are the customer; you want: find out \
                     why charged twice. What do you tell the agent?"
                ),
            ]
        );
    }

    #[test]
    fn neither_a_summary_nor_a_message_grows_without_bound() {
        let wordy = "word ".repeat(5_000);
        let turns: Vec<Turn> = (1..=40).map(|number| turn(number, &wordy, Some(&wordy))).collect();
        let messages = messages(&simulator(), &turns);
        let earlier = messages[0].content.split_once("conversation:\n").expect("a summary").1;
        assert!(earlier.starts_with("(30 earlier turns are left out.)\nTurn 31. You: word"), "{earlier}");
        assert!(earlier.chars().count() < LONGEST_SUMMARY + 50, "{}", earlier.chars().count());
        assert_eq!(messages.len(), 2 + 2 * RECENT_TURNS);
        assert!(messages[2..].iter().all(|message| message.content.chars().count() <= LONGEST_MESSAGE + 200));
    }

    #[test]
    fn an_agent_that_only_acts_is_seen_to_act() {
        let call =
            ToolCall { id: "1".to_owned(), name: "get_balance".to_owned(), arguments: "{}".to_owned(), result: None };
        let acting = Turn { tool_calls: vec![call], actions: vec!["REPLY".to_owned()], ..turn(1, "Hi", Some("")) };
        assert_eq!(heard(&acting), "(The agent does: get_balance, REPLY.)");
    }
}
