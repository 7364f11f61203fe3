//! The mock user: has a wish, answers questions, and is satisfied after a few good replies.

mod seen;

use serde_json::json;

use crate::chat::Request;

use self::seen::Seen;
use super::{UNHELPFUL, chance::Key, topics, words};

/// The user's next message, in the form that the prompt requires.
pub(crate) fn speak(request: &Request, key: Key) -> String {
    let seen = Seen::read(request);
    let marks = Marks::of(&seen);
    if let Some(tool) = tool_for(&seen) {
        return if request.schema.is_some() {
            json!({ "say": "", "call": { "name": tool, "arguments": {} } }).to_string()
        } else {
            format!("###CALL {tool} {{}}###")
        };
    }
    let say = words_of(&seen, request.seed, key, marks.ends);
    marks.on(say, request.schema.is_some())
}

/// The tool that the agent's last message or the person's task mentions by name: the person uses it before replying.
fn tool_for(seen: &Seen) -> Option<&str> {
    let last = seen.heard.last().map_or("", String::as_str);
    let heard = format!("{last} {}", seen.profile("task"));
    let is_meant = |tool: &&String| {
        tool.split(['_', '-']).all(|word| words::words(&heard).any(|heard| heard.eq_ignore_ascii_case(word)))
    };
    seen.tools.iter().find(is_meant).map(String::as_str)
}

fn words_of(seen: &Seen, seed: Option<u64>, key: Key, ends: bool) -> String {
    let user = User::read(seen, key);
    let Some(last) = seen.heard.last() else {
        return format!("Hello, I need help. {}", user.wish());
    };
    let task = seen.profile("task");
    if !task.is_empty() {
        // The states of the scenario lead the talk.
        return match user.opener() {
            Some(opener) => format!("{opener} {}", user.task_line(task)),
            None => user.task_line(task),
        };
    }
    if last.contains(UNHELPFUL) {
        return format!("{} {}", user.complaint(), user.wish());
    }
    if ends {
        return user.contentment().to_owned();
    }
    match seen.said.iter().filter(|said| words::mentions(said, &["thank"])).count() {
        0 => {}
        1 => return user.fresh("leave", &["Thank you again, that is all I needed.", "Thank you, goodbye."]).to_owned(),
        // The user does not thank for ever.
        _ => return user.fresh("left", &["Goodbye.", "Bye.", "That is all."]).to_owned(),
    }
    // A user with a goal of parts is content when the last of them is done.
    if seen.goal.is_empty() && is_content(helpful(seen), Key::of_seed(seed)) {
        return user.contentment().to_owned();
    }
    let answer = if last.trim_end().ends_with('?') { user.answer(last) } else { user.go_on() };
    match user.opener() {
        Some(opener) => format!("{opener} {answer}"),
        None => answer,
    }
}

/// Replies that were not refusals.
fn helpful(seen: &Seen) -> usize {
    let (mut earlier, mut refused) = (0, 0);
    for line in &seen.earlier {
        let number = line.strip_prefix("Turn ").and_then(|rest| rest.split_once('.')?.0.parse::<usize>().ok());
        // The number includes the turns that the summary leaves out.
        earlier = earlier.max(number.unwrap_or(0));
        refused += usize::from(number.is_some() && line.contains(UNHELPFUL));
    }
    let shown = seen.heard.iter().filter(|heard| !heard.contains(UNHELPFUL)).count();
    earlier.saturating_sub(refused) + shown
}

/// The marks that the user adds to its text: each helpful reply completes the next part of the goal, and the last part
/// ends the conversation.
#[derive(Debug, Default)]
struct Marks<'a> {
    done: Option<&'a str>,
    ends: bool,
}

impl<'a> Marks<'a> {
    fn of(seen: &'a Seen) -> Self {
        let open: Vec<_> = seen.goal.iter().filter(|part| !part.is_done).collect();
        let was_helped = seen.heard.last().is_some_and(|last| !last.contains(UNHELPFUL));
        let done = open.iter().find(|part| !part.is_later).filter(|_| was_helped).map(|part| part.id.as_str());
        // A user whose end was refused continues.
        let ends = !seen.goal.is_empty() && open.len() == usize::from(done.is_some()) && !seen.is_sent_back;
        Self { done, ends }
    }

    /// The text with these marks.
    fn on(&self, say: String, as_json: bool) -> String {
        if as_json {
            let signal = if self.ends { "done" } else { "none" };
            let done: Vec<&str> = self.done.into_iter().collect();
            return json!({ "thought": "It is my turn.", "say": say, "signal": signal, "parts_done": done })
                .to_string();
        }
        let part = self.done.map(|id| format!("\n###PART {id}###")).unwrap_or_default();
        let end = if self.ends { "\n###DONE###" } else { "" };
        say + &part + end
    }
}

/// Whether this many good replies satisfy this user: 2 to 4, with equal probability. Drawn again after each reply from
/// the call's own seed, because no call knows what an earlier one drew.
fn is_content(helpful: usize, seed: Key) -> bool {
    let chance = match helpful {
        0 | 1 => 0.0,
        2 => 1.0 / 3.0,
        3 => 1.0 / 2.0,
        _ => 1.0,
    };
    seed.text("patience").happens(chance)
}

/// The user as the simulator's prompt describes them, and their messages so far.
#[derive(Debug)]
struct User<'a> {
    objective: String,
    /// Order numbers and the like, which the agent will ask for.
    number: Option<&'a str>,
    /// The facts that the user may tell: name and value.
    facts: &'a [(String, String)],
    learns: bool,
    mood: Mood,
    said: &'a [String],
    key: Key,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Mood {
    #[default]
    Calm,
    Upset,
    Unsure,
    Curt,
    Polite,
}

impl<'a> User<'a> {
    fn read(seen: &'a Seen, key: Key) -> Self {
        let objective = seen.profile("objective");
        let persona = ["persona", "style", "mood", "knowledge"].map(|name| seen.profile(name)).join(" ");
        let mut constraints = words::words(seen.profile("constraints"));
        let topic = topics::topic_of(objective);
        Self {
            objective: plain(objective),
            number: constraints.find(|word| word.len() > 2 && word.bytes().all(|b| b.is_ascii_digit())),
            facts: &seen.facts,
            learns: topic.is_taught || !topic.is_known() && topics::wants_to_learn(objective),
            mood: Mood::of(&persona),
            said: &seen.said,
            key,
        }
    }

    /// A choice that was not used lately; any choice if all were.
    fn fresh(&self, label: &str, choices: &[&'static str]) -> &'static str {
        let new: Vec<&'static str> = choices.iter().copied().filter(|choice| !self.has_said(choice)).collect();
        self.key.text(label).pick(if new.is_empty() { choices } else { &new })
    }

    fn has_said(&self, text: &str) -> bool {
        self.said.iter().any(|said| said.contains(text))
    }

    /// The objective as this user would say it.
    fn wish(&self) -> String {
        if self.objective.is_empty() {
            return "Could you help me with my question?".to_owned();
        }
        let lead = self.key.text("wish").pick(match self.mood {
            Mood::Upset => &["I have to", "All I need is to", "I really need to"],
            Mood::Unsure => &["I think I need to", "I am trying to", "I would like to"],
            Mood::Curt => &["I want to", "I need to", "I have to"],
            Mood::Calm | Mood::Polite => &["I would like to", "I am trying to", "What I need is to"],
        });
        format!("{lead} {}.", self.objective)
    }

    /// The text that a state of the scenario requires, varied as long as possible.
    fn task_line(&self, task: &str) -> String {
        let leads = [
            "I would like you to do this for me",
            "Here is what I want now",
            "My request is this",
            "I still want this",
        ];
        format!("{}: {}.", self.fresh("task", &leads), plain(task))
    }

    /// An answer to a question of the agent.
    fn answer(&self, question: &str) -> String {
        let question = words::sentences(question).last().unwrap_or(question);
        if words::words(question)
            .next()
            .is_some_and(|first| ["does", "is", "shall", "would"].contains(&&*first.to_lowercase()))
        {
            let partly = match self.mood {
                Mood::Upset => "Not yet.",
                Mood::Unsure => "I think so, but not all of it.",
                Mood::Curt => "Partly.",
                Mood::Calm | Mood::Polite => "Partly, yes.",
            };
            return format!("{partly} {}", self.go_on());
        }
        let asked = self.facts.iter().find(|(name, value)| {
            words::words(name).any(|word| words::contains_ignoring_case(question, word)) && !self.has_said(value)
        });
        if let Some((name, value)) = asked {
            return format!("The {name} is {value}.");
        }
        let detail = match self.number.filter(|number| !self.has_said(number)) {
            Some(number) => format!("The number is {number}."),
            None if self.learns => {
                self.fresh("detail", &["I learn best from examples.", "I know next to nothing about it."]).to_owned()
            }
            None => {
                let details = ["It began on Monday.", "I have tried it twice so far.", "I sit at my laptop right now."];
                self.fresh("detail", &details).to_owned()
            }
        };
        if self.has_said(&self.objective) { detail } else { format!("{} {detail}", self.wish()) }
    }

    fn go_on(&self) -> String {
        let next = self.fresh(
            "next",
            if self.learns {
                &[
                    "Could you give me an example from everyday life?",
                    "How would I use this in practice?",
                    "When would somebody want that?",
                    "Could you say that in simpler words?",
                ]
            } else {
                &[
                    "I did the first step, what comes next?",
                    "How long will that take?",
                    "What should I do if that does not work?",
                    "Is there anything else that I have to look at?",
                ]
            },
        );
        if self.has_said(&self.objective) { next.to_owned() } else { format!("{} {next}", self.wish()) }
    }

    fn contentment(&self) -> &'static str {
        let key = self.key.text("content");
        if self.learns {
            return key.pick(&[
                "Thank you, that makes sense, I understand now!",
                "Thank you for the clear explanation, that helps a lot.",
                "Thank you, now I get it. Great examples!",
            ]);
        }
        key.pick(match self.mood {
            Mood::Upset => &[
                "Okay, thank you, that solved it. I feel less stressed now.",
                "Finally, it works. Thank you, that helps.",
                "Thank you, that solved it!",
            ],
            Mood::Curt => &["Thank you, that solved it!", "Works. Thank you.", "Perfect, thank you."],
            Mood::Calm | Mood::Unsure | Mood::Polite => &[
                "Thank you, that solved it!",
                "Thank you so much, that works.",
                "Perfect, thank you for your help, that helps a lot.",
            ],
        })
    }

    /// An expression of the mood, as long as there are new ones.
    fn opener(&self) -> Option<&'static str> {
        let choices: &[&str] = match self.mood {
            Mood::Calm => return None,
            Mood::Upset => &["This is really frustrating.", "I do not have much time.", "I am getting nervous."],
            Mood::Unsure => &["I am not sure that I follow.", "Sorry, this is new to me.", "I am a little lost."],
            Mood::Curt => &["Understood.", "Okay.", "Noted."],
            Mood::Polite => &["I appreciate your patience.", "That is kind of you.", "I see."],
        };
        Some(self.fresh("opener", choices)).filter(|opener| !self.has_said(opener))
    }

    fn complaint(&self) -> &'static str {
        let choices: &[&str] = match self.mood {
            Mood::Upset => &["That is not an answer.", "You are not helping me at all.", "This is unacceptable."],
            Mood::Unsure => {
                &["I do not understand why not.", "Oh. Is there another way?", "Did I ask the wrong thing?"]
            }
            Mood::Curt => &["Not acceptable.", "Try again.", "That does not answer my question."],
            Mood::Calm | Mood::Polite => &[
                "That is a pity, could you try once more?",
                "I had hoped for more.",
                "Could you look at it again, please?",
            ],
        };
        self.fresh("complaint", choices)
    }
}

impl Mood {
    fn of(persona: &str) -> Self {
        const MOODS: [(&[&str], Mood); 4] = [
            (&["angry", "frustrat", "stress", "anxi", "impatient", "annoy", "upset", "panic", "furious"], Mood::Upset),
            (&["confus", "unsure", "beginner", "novice", "elder", "non-technical", "shy"], Mood::Unsure),
            (&["expert", "technical", "terse", "curt", "brief", "busy", "power"], Mood::Curt),
            (&["polite", "friendly", "patient", "formal", "kind"], Mood::Polite),
        ];
        MOODS.iter().find(|(starts, _)| words::mentions(persona, starts)).map_or(Mood::Calm, |(_, mood)| *mood)
    }
}

/// An objective as a wish, without the words that end conversations.
fn plain(objective: &str) -> String {
    const CLOSING: [&str; 11] = [
        "thank",
        "perfect",
        "great",
        "solved",
        "fixed",
        "resolved",
        "done",
        "complete",
        "finished",
        "achieved",
        "accomplished",
    ];
    let kept: Vec<&str> = objective
        .split_whitespace()
        .filter(|word| !CLOSING.iter().any(|closing| words::contains_ignoring_case(word, closing)))
        .collect();
    let text = kept.join(" ");
    let text = text.trim_end_matches(['.', '!', ' ']);
    let text = ["I want to ", "to ", "To ", "The user wants to ", "You want to "]
        .iter()
        .find_map(|start| text.strip_prefix(start))
        .unwrap_or(text);
    words::lower_first(&words::shorten(text, 160))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    #[test]
    fn patience_is_a_function_of_the_seed() {
        let trials = 6_000_u64;
        let length = |trial: u64| (0..9).find(|turn| is_content(*turn, Key::new(trial * 100 + *turn as u64))).unwrap();
        let mut counts = [0_u64; 5];
        (0..trials).for_each(|trial| counts[length(trial)] += 1);
        assert_eq!(counts[..2], [0, 0]);
        assert!(counts[2..].iter().all(|count| count.abs_diff(trials / 3) < 200), "{counts:?}");
        assert_eq!((0..trials).map(length).collect::<Vec<_>>(), (0..trials).map(length).collect::<Vec<_>>());
    }

    #[test]
    fn a_state_leads_the_user_and_a_mentioned_tool_is_used_once() {
        let card = "Chat so far:\nYou: Hi.\n\nYou are p.\nYou want: o.\nDo this now: ask for the refund.\nWrite about 9 words.\n\n\
                    Other says: Please try airplane mode.\nYou answer:";
        let ask = |system: &str, more: Vec<Message>| {
            let mut messages = vec![Message::system(system), Message::user(card)];
            messages.extend(more);
            speak(&Request { messages, ..Request::default() }, Key::new(7))
        };
        let says = ask("s", Vec::new());
        assert!(says.ends_with(": ask for the refund."), "{says}");
        let tools = "s\nThe person can use these tools:\n- look(): l\n- airplane_mode(on): a\nTo use one, …";
        assert_eq!(ask(tools, Vec::new()), "###CALL airplane_mode {}###");
        let used = Message::user("The result of airplane_mode: ok\nUse another tool, or write your next message.");
        assert_eq!(ask(tools, vec![Message::assistant("x"), used]), says);
    }
}
