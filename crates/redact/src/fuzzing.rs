//! Texts with secrets as a fuzzer makes them: no secret may survive, whatever it is dressed as and wherever it is cut.

use std::{cell::RefCell, collections::BTreeMap, fmt::Write as _, rc::Rc};

use crate::{MARK, Redactor, SHORTEST_SECRET};

/// Longer ones only take more time.
const LONGEST_SECRET: usize = 32;
const MOST_MADE: usize = 500;

/// Reads an input: two secrets, each on a line of its own (`\` ends a line that goes on), then a text in which `\x01` and
/// `\x02` stand for the secrets. The first byte says how they are dressed and cut.
///
/// # Panics
/// A secret is in what the redactor returns, or a text without a secret has changed.
pub fn redactor(input: &str) {
    let Some(choice) = input.chars().next() else { return };
    let rest = &input[choice.len_utf8()..];
    let Some((first, rest)) = line(rest) else { return };
    let Some((second, text)) = line(rest) else { return };
    let secrets = [first, second];
    if secrets.iter().any(|secret| secret.len() > LONGEST_SECRET) {
        return;
    }
    let known = known(&secrets);
    let (redactor, long) = &*known;
    let number = u32::from(choice);
    let shown = |secret: &str| {
        let dressed = dressed(secret.trim(), number % DRESSES);
        // A cut leaves the first part and the mark of an omission.
        let cut = (number / DRESSES) as usize % 97;
        match dressed.char_indices().nth(cut).filter(|_| cut > 0 && number % DRESSES == 0) {
            Some((end, _)) if end >= SHORTEST_SECRET => format!("{}…", &dressed[..end]),
            _ => dressed,
        }
    };
    let text = text.replace('\x01', &shown(&secrets[0])).replace('\x02', &shown(&secrets[1]));
    let clean = redactor.redact(&text);
    // What stands between two marks is a part of the text.
    for piece in clean.split(MARK) {
        assert!(text.contains(piece), "{piece:?} was not in the text");
        for Known { dresses, cuts } in long {
            for dressed in dresses {
                assert!(!piece.contains(dressed.as_str()), "{dressed:?} is in {piece:?}");
            }
            for (at, _) in piece.match_indices('…') {
                let found = cuts.iter().find(|cut| piece[..at].ends_with(cut.as_str()));
                assert_eq!(found, None, "it is before a cut in {piece:?}");
            }
        }
    }
}

/// A secret that is long enough.
struct Known {
    /// All its forms.
    dresses: Vec<String>,
    /// What a cut may leave of it.
    cuts: Vec<String>,
}

/// A redactor, and what is known of its secrets.
type Made = Rc<(Redactor, Vec<Known>)>;

/// Making a redactor takes longer than all else, and most inputs have secrets that were there before.
fn known(secrets: &[String; 2]) -> Made {
    thread_local! {
        static MADE: RefCell<BTreeMap<[String; 2], Made>> = RefCell::default();
    }
    MADE.with_borrow_mut(|made| {
        if made.len() >= MOST_MADE {
            made.clear();
        }
        let make = || {
            let long = secrets.iter().map(|secret| secret.trim()).filter(|one| one.len() >= SHORTEST_SECRET);
            let of = |secret: &str| Known {
                dresses: (0..DRESSES).map(|dress| dressed(secret, dress)).collect(),
                cuts: secret
                    .char_indices()
                    .filter(|(end, _)| *end >= SHORTEST_SECRET)
                    .map(|(end, _)| secret[..end].to_owned())
                    .collect(),
            };
            Rc::new((Redactor::new(secrets.to_vec()), long.map(of).collect()))
        };
        Rc::clone(made.entry(secrets.clone()).or_insert_with(make))
    })
}

/// A line, in which `\` and a line end are a line end.
fn line(text: &str) -> Option<(String, &str)> {
    let mut from = 0;
    loop {
        let end = from + text[from..].find('\n')?;
        if !text[..end].ends_with('\\') {
            return Some((text[..end].replace("\\\n", "\n"), &text[end + 1..]));
        }
        from = end + 1;
    }
}

const DRESSES: u32 = 9;

/// The secret as other programs write it. None of this is shared with what is tested.
fn dressed(secret: &str, dress: u32) -> String {
    match dress {
        1 => within_quotes(&format!("{secret:?}")),
        2 => json(secret),
        3 => json(&json(secret)),
        4 => percent(secret, "%20"),
        5 => percent(secret, "+"),
        6 => secret.bytes().fold(String::new(), |mut all, byte| {
            let _ = write!(all, "{byte:02x}");
            all
        }),
        7 => secret
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;"),
        8 => json(secret).replace('/', "\\/"),
        _ => secret.to_owned(),
    }
}

fn json(text: &str) -> String {
    within_quotes(&serde_json::Value::from(text).to_string())
}

fn within_quotes(text: &str) -> String {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text).to_owned()
}

fn percent(secret: &str, space: &str) -> String {
    secret.bytes().fold(String::new(), |mut all, byte| {
        match byte {
            b' ' => all.push_str(space),
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => all.push(char::from(byte)),
            byte => drop(write!(all, "%{byte:02X}")),
        }
        all
    })
}

#[cfg(test)]
mod tests {
    /// The inputs from which the fuzzer starts.
    #[test]
    fn seeds_are_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/redactor");
        let seeds =
            std::fs::read_dir(folder).unwrap().map(|seed| std::fs::read_to_string(seed.unwrap().path()).unwrap());
        assert_eq!(seeds.inspect(|seed| super::redactor(seed)).count(), 6);
    }
}
