//! The family of a model. Models of one family make the same mistakes, so two of them are no independent judges.

use super::settings::Settings;

/// First words of names by which a provider calls models of one family.
const OTHER_NAMES: [(&str, &str); 10] = [
    ("o", "gpt"),
    ("chatgpt", "gpt"),
    ("codellama", "llama"),
    ("codestral", "mistral"),
    ("devstral", "mistral"),
    ("magistral", "mistral"),
    ("ministral", "mistral"),
    ("mixtral", "mistral"),
    ("qwq", "qwen"),
    ("qvq", "qwen"),
];

impl Settings {
    /// The family as the settings write it, or else as the model's name begins: `gpt` of `openai/gpt-5-mini`. `None`: there is no
    /// name.
    #[must_use]
    pub fn family(&self) -> Option<String> {
        self.family.as_deref().map(|written| written.trim().to_lowercase()).or_else(|| of_model(self.model.as_deref()?))
    }
}

fn of_model(model: &str) -> Option<String> {
    let model = model.trim().to_lowercase();
    // `ft:gpt-4o:team` is tuned, `meta-llama/Llama-3` and `eu.amazon.nova-lite-v1:0` name their providers.
    let model = model.strip_prefix("ft:").unwrap_or(&model);
    let name = model.rsplit('/').next().unwrap_or(model);
    let begins_with_a_word = |part: &&str| part.starts_with(char::is_alphabetic);
    let name = name.split('.').rfind(begins_with_a_word).unwrap_or(name);
    let word: &str =
        name.split(|letter: char| !letter.is_alphabetic()).next().filter(|word| !word.is_empty()).unwrap_or(name);
    let family = OTHER_NAMES.iter().find(|(other, _)| *other == word).map_or(word, |(_, family)| family);
    (!family.is_empty()).then(|| family.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_models_name_begins_with_its_family() {
        let rows = [
            ("gpt-5-mini", "gpt"),
            ("openai/gpt-4.1", "gpt"),
            ("ft:gpt-4o-mini:team::1", "gpt"),
            ("o4-mini", "gpt"),
            ("chatgpt-4o-latest", "gpt"),
            ("claude-haiku-4-5", "claude"),
            ("eu.anthropic.claude-sonnet-4-v1:0", "claude"),
            ("eu.amazon.nova-lite-v1:0", "nova"),
            ("gemini-2.5-flash", "gemini"),
            ("Qwen2.5-Coder-1.5B-Instruct", "qwen"),
            ("meta-llama/Llama-3.1-8B", "llama"),
            ("llama3.2:1b", "llama"),
            ("mixtral-8x7b", "mistral"),
            ("mistral-small-latest", "mistral"),
            ("m", "m"),
            ("7b", "7b"),
        ];
        for (model, family) in rows {
            let settings: Settings = serde_json::from_value(json!({ "model": model })).expect("settings");
            assert_eq!(settings.family().as_deref(), Some(family), "{model}");
        }
        let written: Settings =
            serde_json::from_value(json!({ "model": "judge-1", "family": "Qwen" })).expect("settings");
        assert_eq!(written.family().as_deref(), Some("qwen"));
        assert_eq!(Settings::default().family(), None);
    }
}
