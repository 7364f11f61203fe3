//! What the mock user reads in a prompt: the card of gabfest's simulator, or a chat with swapped roles.

use crate::{chat::Request, message::MessageRole};

/// How the line of a card begins that sends a draft back because of its end.
const SENT_BACK: [&str; 2] =
    ["Your last draft was refused. You end the talk", "Your last draft was refused. Nobody has passed you on"];

#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The prompt's description of the person: a name in lower case, and its value.
    pub(super) profile: Vec<(&'static str, String)>,
    /// Name and value of the facts that the person may tell.
    pub(super) facts: Vec<(String, String)>,
    /// The parts of the goal: the id, and whether it is done or waits for another one.
    pub(super) goal: Vec<Part>,
    /// Its own messages, oldest first.
    pub(super) said: Vec<String>,
    /// The agent's messages since the person's first, oldest first.
    pub(super) heard: Vec<String>,
    /// A line for each turn that is only summed up.
    pub(super) earlier: Vec<String>,
    /// The person's tools that it has not used for this line: names.
    pub(super) tools: Vec<String>,
    /// The last draft went back because it ended the talk.
    pub(super) is_sent_back: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) id: String,
    pub(super) is_done: bool,
    pub(super) is_later: bool,
}

impl Seen {
    pub(super) fn read(request: &Request) -> Self {
        let is_card = |text: &str| text.ends_with("You answer:") || text.ends_with("You begin the chat:");
        let card = request.messages.iter().rev().find(|message| is_card(&message.content));
        let mut seen = card.map_or_else(|| Self::of_chat(request), |card| Self::of_card(&card.content));
        let reply_form = request.messages.first().map_or("", |message| message.content.as_str());
        if let Some((_, tools)) = reply_form.split_once("The person can use these tools:") {
            let names = tools.lines().filter_map(|line| line.strip_prefix("- ")?.split_once('(')).map(|(name, _)| name);
            let was_used = |name: &str| {
                let result = format!("The result of {name}: ");
                request.messages.iter().any(|message| message.content.starts_with(&result))
            };
            seen.tools.extend(names.filter(|name| !was_used(name)).map(str::to_owned));
        }
        seen
    }

    pub(super) fn profile(&self, name: &str) -> &str {
        self.profile.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    fn of_card(card: &str) -> Self {
        const PROFILE: [(&str, &str); 7] = [
            ("Do this now: ", "task"),
            ("You are ", "persona"),
            ("You want: ", "objective"),
            ("You keep to this: ", "constraints"),
            ("Your style: ", "style"),
            ("You feel: ", "mood"),
            ("Your knowledge of the topic: ", "knowledge"),
        ];
        let mut seen = Self::default();
        // The speaker of a line that continues the previous one.
        let mut own = false;
        for line in card.lines() {
            let value = |rest: &str| rest.trim().trim_end_matches('.').to_owned();
            if SENT_BACK.iter().any(|start| line.starts_with(start)) {
                seen.is_sent_back = true;
            } else if let Some(more) = line.strip_prefix("  ") {
                let words = if own { &mut seen.said } else { &mut seen.heard };
                if let Some(last) = words.last_mut() {
                    last.push('\n');
                    last.push_str(more);
                }
            } else if let Some(words) = line.strip_prefix("You: ") {
                own = true;
                seen.said.push(words.to_owned());
            } else if let Some(words) = line.strip_prefix("Other: ").or_else(|| line.strip_prefix("Other says: ")) {
                own = false;
                // Everything before the person's first message is a greeting of the agent.
                if !seen.said.is_empty() || !seen.earlier.is_empty() {
                    seen.heard.push(words.to_owned());
                }
            } else if line.starts_with("Turn ") || line.starts_with('(') {
                seen.earlier.push(line.to_owned());
            } else if let Some(facts) = ["You know: ", "You tell early: "].iter().find_map(|it| line.strip_prefix(it)) {
                let facts = facts.trim_end_matches('.').split("; ").filter_map(|fact| fact.split_once(": "));
                seen.facts.extend(facts.map(|(name, value)| (name.to_owned(), value.to_owned())));
            } else if let Some(part) = line.strip_prefix("- ") {
                seen.goal.extend(part.split_once(": ").map(|(id, rest)| Part {
                    id: id.to_owned(),
                    is_done: rest.ends_with("(done)"),
                    is_later: rest.ends_with(", later)"),
                }));
            } else if let Some((lead, name)) = PROFILE.iter().find(|(lead, _)| line.starts_with(lead)) {
                seen.profile.push((name, value(&line[lead.len()..])));
            }
        }
        seen
    }

    /// The agent's messages have the role `user`, and the system message describes the person, one line for each thing.
    fn of_chat(request: &Request) -> Self {
        const PROFILE: [(&str, &str); 7] = [
            ("persona", "persona"),
            ("objective", "objective"),
            ("goal", "objective"),
            ("constraints", "constraints"),
            ("style", "style"),
            ("mood", "mood"),
            ("knowledge", "knowledge"),
        ];
        let mut seen = Self::default();
        for message in &request.messages {
            match message.role {
                MessageRole::System => {
                    for line in message.content.lines() {
                        if line.starts_with("Turn ") {
                            seen.earlier.push(line.to_owned());
                            continue;
                        }
                        let Some((name, value)) = line.split_once(':') else { continue };
                        let name = name.trim().to_ascii_lowercase();
                        if let Some((_, name)) = PROFILE.iter().find(|(known, _)| *known == name) {
                            seen.profile.push((name, value.trim().to_owned()));
                        }
                    }
                }
                MessageRole::Assistant => seen.said.push(message.content.clone()),
                MessageRole::User if !seen.said.is_empty() => seen.heard.push(message.content.clone()),
                _ => {}
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    #[test]
    fn a_card_is_read() {
        let card = "Earlier, in short:\n(2 earlier turns are left out.)\nTurn 3. You: Hi. Other: Hello.\n\n\
                    Chat so far:\nYou: one\n  two\nOther: three\nYou: four\n\n\
                    You are a nurse.\nYou want: to move it.\nYou know: number: A-1; day: Monday.\nYou keep to this: be brief.\n\
                    Your goal:\n- a: first (done)\n- b: second (open, later)\nNow: second.\nWrite about 9 words.\n\n\
                    Other says: five\n  You: six\nYou answer:";
        let messages = vec![Message::system("s"), Message::user(card)];
        let seen = Seen::read(&Request { messages, ..Request::default() });
        assert_eq!(
            (seen.said, seen.heard),
            (vec!["one\ntwo".into(), "four".into()], vec!["three".into(), "five\nYou: six".into()])
        );
        assert_eq!(seen.earlier.len(), 2);
        assert_eq!(
            seen.profile,
            [("persona", "a nurse".into()), ("objective", "to move it".into()), ("constraints", "be brief".into())]
        );
        assert_eq!(seen.facts, [("number".into(), "A-1".into()), ("day".into(), "Monday".into())]);
        let part = |id: &str, is_done, is_later| Part { id: id.into(), is_done, is_later };
        assert_eq!(seen.goal, [part("a", true, false), part("b", false, true)]);
        assert!(!seen.is_sent_back);
        for (line, is_sent_back) in [
            ("Your last draft was refused. You end the talk and ask a question.", true),
            ("Your last draft was refused. Nobody has passed you on.", true),
            ("Your last draft was refused. It is too long.", false),
            ("Other says: Your last draft was refused. You end the talk.", false),
        ] {
            let messages = vec![Message::user(format!("You are a nurse.\n{line}\nYou answer:"))];
            assert_eq!(Seen::read(&Request { messages, ..Request::default() }).is_sent_back, is_sent_back, "{line}");
        }
    }
}
