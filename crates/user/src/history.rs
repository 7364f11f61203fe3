//! The simulated user's memory: the opening, scripted steps and its own lines, verbatim within a budget.
//!
//! Beyond the budget the oldest turns become a summary of the sentences with facts and promises.

use std::borrow::Cow;

use record::{Turn, turn::Origin};
use scenario::{
    Action, Message, Step,
    message::{Part, Speaker},
};

/// A token has at least as many bytes in most languages.
const BYTES_PER_TOKEN: usize = 3;
/// Bytes of one side of one turn in the summary.
const MOST_SENTENCE_BYTES: usize = 300;
/// Word prefixes of promises.
const PROMISES: [&str; 16] = [
    " will ",
    "'ll ",
    "promise",
    "guarantee",
    " werde",
    " wird ",
    "versprech",
    "garantier",
    " vamos a ",
    " voy a ",
    "promet",
    "garantiz",
    " vais ",
    " allons ",
    "garanti",
    "deadline",
];

/// The conversation as the user's model sees it.
#[derive(Debug, Default)]
pub(crate) struct History<'a> {
    /// The latest exchanges, in order.
    pub(crate) lines: Vec<Line<'a>>,
    /// The exchanges before them.
    pub(crate) summary: Option<String>,
    /// How many turns the summary covers.
    pub(crate) summed_up: u32,
}

/// A message of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Whether the user said them.
    pub(crate) own: bool,
    pub(crate) text: Cow<'a, str>,
    /// Addresses of the images that were shown with the words.
    pub(crate) images: Vec<&'a str>,
}

/// One unit: a message of the opening, or a turn.
struct Exchange<'a> {
    lines: Vec<Line<'a>>,
    is_turn: bool,
}

/// The conversation within a budget of tokens.
///
/// `steps`: those of the scenario, which have the images of scripted turns.
pub(crate) fn within<'a>(opening: &'a [Message], turns: &'a [Turn], steps: &'a [Step], tokens: u32) -> History<'a> {
    let budget = tokens as usize * BYTES_PER_TOKEN;
    let mut exchanges: Vec<Exchange<'a>> = opening.iter().filter_map(of_message).collect();
    exchanges.extend(turns.iter().filter(|turn| turn.speaker != Origin::Program).map(|turn| of_turn(turn, steps)));
    let total: usize = exchanges.iter().map(Exchange::bytes).sum();
    if total <= budget {
        return History { lines: exchanges.into_iter().flat_map(|it| it.lines).collect(), ..History::default() };
    }
    let for_summary = budget / 4;
    let mut room = budget - for_summary;
    // The last exchange is always shown, because the user answers it.
    let mut first = exchanges.len().saturating_sub(1);
    room = room.saturating_sub(exchanges[first].bytes());
    while first > 0 && exchanges[first - 1].bytes() <= room {
        first -= 1;
        room -= exchanges[first].bytes();
    }
    let recent = exchanges.split_off(first);
    let mut lines: Vec<Line<'a>> = recent.into_iter().flat_map(|it| it.lines).collect();
    lines.iter_mut().for_each(|line| cut_in_place(&mut line.text, (budget - for_summary) / 2));
    let summed_up = exchanges.iter().filter(|it| it.is_turn).count();
    let summary = (!exchanges.is_empty()).then(|| summary(&exchanges, for_summary));
    History { lines, summary, summed_up: u32::try_from(summed_up).unwrap_or(u32::MAX) }
}

impl Exchange<'_> {
    fn bytes(&self) -> usize {
        self.lines.iter().map(|line| line.text.len()).sum()
    }
}

/// Instructions to the agent and results of its tools are not for the user's eyes.
fn of_message(message: &Message) -> Option<Exchange<'_>> {
    let own = match message.speaker {
        Speaker::User => true,
        Speaker::Agent => false,
        _ => return None,
    };
    let text = match message.parts.as_slice() {
        [Part::Text(text)] => Cow::Borrowed(text.trim()),
        _ => Cow::Owned(message.text().trim().to_owned()),
    };
    let images: Vec<&str> = message.images().collect();
    let is_seen = !text.is_empty() || !images.is_empty();
    is_seen.then(|| Exchange { lines: vec![Line { own, text, images }], is_turn: false })
}

fn of_turn<'a>(turn: &'a Turn, steps: &'a [Step]) -> Exchange<'a> {
    let mut lines = Vec::with_capacity(2);
    for call in turn.user_calls() {
        let result = call.result.as_deref().unwrap_or("nothing");
        let text = format!("(you use {} {}, and it says: {result})", call.name, call.arguments);
        lines.push(Line { own: true, text: Cow::Owned(text), images: Vec::new() });
    }
    let own = turn.meant().trim();
    let images = shown(turn, steps);
    if !own.is_empty() || !images.is_empty() {
        lines.push(Line { own: true, text: Cow::Borrowed(own), images });
    }
    lines.push(Line { own: false, text: heard(turn), images: Vec::new() });
    Exchange { lines, is_turn: true }
}

/// The images of a scripted turn. A scripted step is one turn.
fn shown<'a>(turn: &Turn, steps: &'a [Step]) -> Vec<&'a str> {
    let step = usize::try_from(turn.step).ok().and_then(|number| steps.get(number.checked_sub(1)?));
    match step.map(|step| &step.action) {
        Some(Action::Say { messages, .. }) if turn.speaker == Origin::Scripted => {
            messages.iter().flat_map(Message::images).collect()
        }
        _ => Vec::new(),
    }
}

/// What the agent showed to the person.
fn heard(turn: &Turn) -> Cow<'_, str> {
    match turn.said() {
        Some(Cow::Borrowed(words)) if !words.trim().is_empty() => return Cow::Borrowed(words.trim()),
        Some(Cow::Owned(words)) if !words.trim().is_empty() => return Cow::Owned(words.trim().to_owned()),
        _ => {}
    }
    let done: Vec<&str> =
        turn.tool_calls.iter().map(|call| call.name.as_str()).chain(turn.actions.iter().map(String::as_str)).collect();
    if done.is_empty() { "(says nothing)".into() } else { format!("(does: {})", done.join(", ")).into() }
}

/// One line for each exchange. The newest are kept first.
fn summary(exchanges: &[Exchange<'_>], budget: usize) -> String {
    let before = exchanges.iter().take_while(|it| !it.is_turn).count();
    let mut lines = Vec::new();
    let mut length = 0;
    for (index, exchange) in exchanges.iter().enumerate().rev() {
        let name = if exchange.is_turn { format!("Turn {}.", index + 1 - before) } else { "Before.".to_owned() };
        let sides = exchange.lines.iter().map(|line| {
            let who = if line.own { "You" } else { "Other" };
            format!(" {who}: {}", essence(&line.text))
        });
        let line = name + &sides.collect::<String>();
        length += line.len() + 1;
        if length > budget {
            lines.push(format!("({} earlier turns are left out.)", index + 1));
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    lines.join("\n")
}

/// The first sentence, and the others that hold a fact or a promise.
fn essence(text: &str) -> String {
    let line = one_line(text);
    let mut kept = String::new();
    for (index, sentence) in sentences(&line).into_iter().enumerate() {
        if index == 0 || is_worth_keeping(sentence) {
            if !kept.is_empty() {
                kept.push(' ');
            }
            kept.push_str(sentence);
        }
    }
    cut(&kept, MOST_SENTENCE_BYTES)
}

fn is_worth_keeping(sentence: &str) -> bool {
    let has_fact = sentence.contains(|c: char| c.is_numeric() || c == '@') || sentence.contains("://");
    let lower = sentence.to_lowercase();
    has_fact || PROMISES.iter().any(|promise| lower.contains(promise))
}

pub(crate) fn sentences(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, character) in line.char_indices() {
        let end = at + character.len_utf8();
        let is_end = matches!(character, '.' | '!' | '?' | '…' | '。' | '！' | '？');
        if is_end && line[end..].chars().next().is_none_or(char::is_whitespace) {
            sentences.push(line[start..end].trim());
            start = end;
        }
    }
    let rest = line[start..].trim();
    if !rest.is_empty() {
        sentences.push(rest);
    }
    sentences
}

/// The end of the words, which mostly asks or says what comes next.
pub(crate) fn last_sentence(text: &str) -> &str {
    sentences(text).pop().unwrap_or(text)
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut_in_place(text: &mut Cow<'_, str>, bytes: usize) {
    if text.len() > bytes {
        *text = Cow::Owned(cut(text, bytes));
    }
}

fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", text[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use record::turn::ToolCall;

    use super::*;

    fn turn(number: u32, speaker: Origin, user: &str, agent: Option<&str>) -> Turn {
        Turn { agent: agent.map(str::to_owned), ..Turn::new(number, 1, speaker, user.to_owned(), 0) }
    }

    fn shown(history: &History<'_>) -> Vec<(bool, String)> {
        history.lines.iter().map(|line| (line.own, line.text.clone().into_owned())).collect()
    }

    #[test]
    fn the_opening_scripted_and_simulated_lines_are_shown_word_by_word() {
        let opening =
            [Message::text_of(Speaker::System, "You are a shop."), Message::text_of(Speaker::Agent, " Welcome! ")];
        let turns = [
            turn(1, Origin::Scripted, "Hi.\nI am here.", Some("Hello. How can I help?")),
            turn(2, Origin::Program, "ls", Some("a b")),
            turn(3, Origin::Simulated, "I want 30 EUR back.", None),
            turn(4, Origin::Scripted, "", Some("Still there?")),
        ];
        let history = within(&opening, &turns, &[], 1_000);
        let expected = [
            (false, "Welcome!"),
            (true, "Hi.\nI am here."),
            (false, "Hello. How can I help?"),
            (true, "I want 30 EUR back."),
            (false, "(says nothing)"),
            (false, "Still there?"),
        ];
        assert_eq!(shown(&history), expected.map(|(own, text)| (own, text.to_owned())));
        assert_eq!((history.summary, history.summed_up), (None, 0));
    }

    #[test]
    fn an_agent_that_only_acts_is_seen_to_act() {
        let call =
            ToolCall { id: "1".to_owned(), name: "get_balance".to_owned(), arguments: "{}".to_owned(), result: None };
        let quiet = turn(1, Origin::Simulated, "Hi", Some(""));
        let acting = Turn { tool_calls: vec![call], actions: vec!["REPLY".to_owned()], ..quiet };
        assert_eq!(heard(&acting), "(does: get_balance, REPLY)");
    }

    #[test]
    fn beyond_the_budget_the_oldest_are_summed_up_with_their_facts_and_promises() {
        let long = "and so on ".repeat(30);
        let turns: Vec<Turn> = (1..=6)
            .map(|number| {
                let user = format!("Line {number}. {long}. My order is W-{number}.");
                turn(number, Origin::Simulated, &user, Some("Let me see. That is hard. We will refund it tomorrow."))
            })
            .collect();
        let history = within(&[], &turns, &[], 400);
        let summary = history.summary.expect("a summary");
        let line = |n: u32| {
            format!("Turn {n}. You: Line {n}. My order is W-{n}. Other: Let me see. We will refund it tomorrow.")
        };
        assert_eq!(history.summed_up, 4);
        assert_eq!(summary, format!("(1 earlier turns are left out.)\n{}\n{}\n{}", line(2), line(3), line(4)));
        assert_eq!(history.lines.len(), 4);
        assert_eq!(history.lines[0].text, turns[4].user.as_str());
    }

    #[test]
    fn neither_a_summary_nor_a_line_is_larger_than_the_budget() {
        let wordy = "wörd ".repeat(5_000);
        let turns: Vec<Turn> = (1..=40).map(|n| turn(n, Origin::Simulated, &wordy, Some(&wordy))).collect();
        for tokens in [200, 1_000, 6_000] {
            let history = within(&[], &turns, &[], tokens);
            let bytes: usize = history.lines.iter().map(|line| line.text.len()).sum();
            let all = bytes + history.summary.as_ref().map_or(0, String::len);
            assert!(all <= tokens as usize * BYTES_PER_TOKEN + 200, "{tokens}: {all}");
            assert_eq!(history.lines.len(), 2, "{tokens}");
        }
    }
}
