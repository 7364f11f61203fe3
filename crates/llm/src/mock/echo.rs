//! How the mock agent repeats the user's words and refers to earlier turns.

use super::{chance::Key, feeling::Feeling, measure::is_rude, words};

/// Repeats what the user said: all of it at first, later the main points.
pub(crate) fn take_up(last: &str, later: bool) -> Option<String> {
    const LIMIT: usize = 400;
    let all = words::sentences(last).filter(|sentence| !is_greeting(sentence) && !is_rude(sentence));
    let mut points: Vec<(usize, &str)> = all.map(|sentence| (weight(sentence), sentence)).collect();
    if later {
        let heaviest = points.iter().copied().max_by_key(|(weight, _)| *weight);
        points.retain(|(weight, sentence)| *weight > 4 || *weight > 2 && Feeling::of(sentence).is_none());
        points.truncate(2);
        if points.is_empty() {
            points.extend(heaviest);
        }
    } else if points.iter().map(|(_, sentence)| sentence.len()).sum::<usize>() > LIMIT {
        return Some(format!("I understand that this is about {}.", words::salient(last, 24).join(", ")));
    }
    let said: Vec<String> = points.into_iter().filter_map(|(_, sentence)| heard(sentence)).collect();
    (!said.is_empty()).then(|| words::shorten(&said.join(" "), 2 * LIMIT))
}

/// How much a sentence matters; a question matters more.
fn weight(sentence: &str) -> usize {
    words::salient(sentence, 24).len() + 3 * usize::from(sentence.ends_with('?'))
}

/// The sentence from the agent's point of view; `None` if it has no words.
fn heard(sentence: &str) -> Option<String> {
    let core = without_greeting(sentence).trim_end_matches(['.', '!', '?', ',', ' ']);
    let first = words::words(core).next()?;
    let is = |known: &[&str]| known.iter().any(|word| word.eq_ignore_ascii_case(first));
    Some(if sentence.ends_with('?') {
        format!("You ask: \"{core}?\"")
    } else if is(&STARTS_OF_OWN) {
        format!("I understand that {}.", words::lower_first(&words::reflect(core)))
    } else if is(&IMPERATIVES) {
        format!("You would like me to {}.", words::lower_first(&words::reflect(without_please(core))))
    } else {
        format!("You say: \"{core}\".")
    })
}

/// Earlier facts that still matter: the first topic, numbers with the word before them, the name.
pub(crate) fn recollection(last: &str, earlier: &[&str], key: Key) -> Option<String> {
    const MOST: usize = 4;
    let first = earlier.first()?;
    let matter = words::sentences(first)
        .filter(|sentence| !is_rude(sentence))
        .max_by_key(|sentence| words::salient(sentence, 24).len())?;
    let core = without_greeting(matter).trim_end_matches(['.', '!', '?', ',', ' ']);
    let mut memory = String::new();
    if words::salient(core, 2).len() == 2 {
        let own = words::words(core).next().is_some_and(|word| STARTS_OF_OWN.contains(&&*word.to_lowercase()));
        memory = if own && !matter.ends_with('?') {
            let lead =
                key.text("memory").pick(&["I have not forgotten that", "As you told me,", "I keep in mind that"]);
            format!("{lead} {}.", words::lower_first(&words::reflect(&words::shorten(core, 160))))
        } else {
            let lead = key.text("memory").pick(&["I have not forgotten what you began with:", "You began with"]);
            format!("{lead} \"{}\".", words::shorten(core, 160))
        };
    }
    let mut facts: Vec<String> = Vec::new();
    for text in earlier {
        let mut before = "";
        for word in words::words(text) {
            let is_fact = word.bytes().any(|byte| byte.is_ascii_digit());
            if is_fact && facts.len() < MOST && !last.contains(word) && !memory.contains(word) {
                facts.push(if before.is_empty() { word.to_owned() } else { format!("{before} {word}") });
            }
            before = word;
        }
    }
    if !facts.is_empty() {
        memory.push_str(&format!(" I have noted: {}.", facts.join(", ")));
    }
    if let Some(name) = earlier.iter().find_map(|text| name_in(text)).filter(|name| !memory.contains(name)) {
        memory.push_str(&format!(" I remember your name, too, {name}."));
    }
    (!memory.is_empty()).then(|| memory.trim_start().to_owned())
}

fn name_in(text: &str) -> Option<&str> {
    let at = ["my name is ", "My name is "].iter().find_map(|start| text.find(start).map(|at| at + start.len()))?;
    words::words(&text[at..]).next()
}

/// Beginnings of sentences that speakers say of themselves.
const STARTS_OF_OWN: [&str; 6] = ["i", "i'm", "i've", "my", "we", "our"];

const IMPERATIVES: [&str; 26] = [
    "please",
    "list",
    "show",
    "tell",
    "explain",
    "create",
    "read",
    "give",
    "write",
    "help",
    "find",
    "check",
    "cancel",
    "book",
    "describe",
    "summarize",
    "teach",
    "search",
    "open",
    "close",
    "send",
    "compare",
    "translate",
    "remind",
    "name",
    "recommend",
];

const GREETINGS: [&str; 6] = ["hello", "hi", "hey", "good morning", "good evening", "dear team"];

pub(crate) fn begins_with_greeting(text: &str) -> bool {
    words::words(text).next().is_some_and(|first| GREETINGS.iter().any(|greeting| greeting.eq_ignore_ascii_case(first)))
}

fn is_greeting(sentence: &str) -> bool {
    let core = sentence.trim_end_matches(['.', '!', ',', ' ']);
    GREETINGS.iter().any(|greeting| core.eq_ignore_ascii_case(greeting))
}

fn without_greeting(sentence: &str) -> &str {
    let sentence = sentence.trim_start();
    GREETINGS
        .iter()
        .find_map(|greeting| {
            let rest = words::begins(sentence, greeting).then(|| &sentence[greeting.len()..])?;
            rest.starts_with(',').then(|| rest.trim_start_matches([',', ' ']))
        })
        .unwrap_or(sentence)
}

fn without_please(core: &str) -> &str {
    if words::begins(core, "please ") { core["please ".len()..].trim_start() } else { core }
}
