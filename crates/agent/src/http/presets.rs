//! Presets: the `http` settings of servers that many agents run behind, each a YAML file of this folder.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use crate::history::History;

use super::settings::Settings;

const FILES: [(&str, &str); 9] = [
    ("adk", include_str!("presets/adk.yaml")),
    ("dialogflow_cx", include_str!("presets/dialogflow_cx.yaml")),
    ("dify", include_str!("presets/dify.yaml")),
    ("flowise", include_str!("presets/flowise.yaml")),
    ("langgraph", include_str!("presets/langgraph.yaml")),
    ("mcp_tool", include_str!("presets/mcp_tool.yaml")),
    ("n8n", include_str!("presets/n8n.yaml")),
    ("rasa", include_str!("presets/rasa.yaml")),
    ("vercel", include_str!("presets/vercel.yaml")),
];

const NAMES: [&str; FILES.len()] = {
    let mut names = [""; FILES.len()];
    let mut index = 0;
    while index < FILES.len() {
        names[index] = FILES[index].0;
        index += 1;
    }
    names
};

/// A preset by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Preset(&'static str);

/// A file.
#[derive(Debug, Deserialize, JsonSchema)]
struct Written {
    /// The keys of `with` that must be written.
    #[serde(default)]
    needs: BTreeSet<String>,
    /// The other keys of `with`, and their values unless others are written.
    #[serde(default)]
    with: BTreeMap<String, String>,
    #[serde(default)]
    history: Option<History>,
    http: Value,
}

/// What does not fit the preset.
#[derive(Debug, thiserror::Error)]
#[error("its preset {0}")]
pub struct Misfit(String);

impl Misfit {
    pub(super) fn reason(&self) -> &str {
        &self.0
    }
}

impl Preset {
    /// All presets.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.into_iter().map(Self)
    }

    /// The preset with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        NAMES.into_iter().find(|known| *known == name).map(Self)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Its purpose, in one line.
    #[must_use]
    pub fn about(self) -> &'static str {
        self.text().lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
    }

    /// The agent of the preset as settings for `gabfest.yaml`. Values to fill in are in angle brackets.
    #[must_use]
    pub fn page(self) -> String {
        let keys = self.text().lines().skip_while(|line| !line.starts_with("history:") && !line.starts_with("http:"));
        let keys: Vec<String> = keys.map(|line| format!("    {line}")).collect();
        format!("# {}\nagents:\n  {}:\n{}", self.about(), self.0, keys.join("\n"))
    }

    pub(super) fn history(self) -> Option<History> {
        self.read().history
    }

    /// Its settings for a server, with the values of `with`.
    fn settings(self, url: &str, with: &BTreeMap<String, String>) -> Result<Settings, Misfit> {
        let Written { needs, with: usual, mut http, .. } = self.read();
        let fault = |what: &str, key: &str| Misfit(format!("{} {what} `with: {{ {key}: … }}`", self.0));
        if let Some(key) = needs.iter().find(|key| !with.contains_key(*key)) {
            return Err(fault("needs", key));
        }
        if let Some(key) = with.keys().find(|key| !needs.contains(*key) && !usual.contains_key(*key)) {
            return Err(fault("has no", key));
        }
        let mut values = usual;
        values.extend(with.clone());
        values.insert("url".to_owned(), url.trim_end_matches('/').to_owned());
        fill(&mut http, &values);
        serde_json::from_value(http).map_err(|error| Misfit(format!("{} cannot be filled in: {error}", self.0)))
    }

    fn read(self) -> Written {
        let (file, findings) = yaml::read::<Written>(self.text(), self.0);
        file.unwrap_or_else(|| unreachable!("a test reads every preset: {findings:?}"))
    }

    fn text(self) -> &'static str {
        FILES.iter().find(|(name, _)| *name == self.0).map_or("", |(_, text)| text)
    }
}

impl Settings {
    /// The settings on top of those of their preset.
    pub(super) fn filled(&self) -> Result<Cow<'_, Self>, Misfit> {
        let Some(preset) = self.preset else {
            let unused = self.with.keys().next();
            return unused.map_or(Ok(Cow::Borrowed(self)), |key| {
                Err(Misfit(format!("is missing: `with: {{ {key}: … }}` fills in the blanks of a preset")))
            });
        };
        let beneath = preset.settings(self.url.written(), &self.with)?;
        let mut headers = beneath.headers;
        headers.extend(self.headers.clone());
        let mut statuses = beneath.statuses;
        statuses.extend(self.statuses.clone());
        Ok(Cow::Owned(Self {
            url: beneath.url,
            preset: None,
            with: BTreeMap::new(),
            method: beneath.method,
            key: self.key.clone(),
            oauth: self.oauth.clone(),
            headers,
            body: self.body.clone().or(beneath.body),
            reply: self.reply.clone().over(beneath.reply),
            session: self.session.clone().or(beneath.session),
            start: self.start.clone().or(beneath.start),
            poll: self.poll.clone().or(beneath.poll),
            statuses,
        }))
    }
}

/// Writes the values into all texts and keys.
fn fill(value: &mut Value, values: &BTreeMap<String, String>) {
    let filled =
        |text: &str| values.iter().fold(text.to_owned(), |text, (key, value)| text.replace(&format!("<{key}>"), value));
    match value {
        Value::String(text) => *text = filled(text),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, values)),
        Value::Object(map) => {
            let entries = std::mem::take(map).into_iter().map(|(key, mut item)| {
                fill(&mut item, values);
                (filled(&key), item)
            });
            *map = entries.collect();
        }
        _ => {}
    }
}

impl<'de> Deserialize<'de> for Preset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| de::Error::unknown_variant(&name, &NAMES))
    }
}

impl JsonSchema for Preset {
    fn schema_name() -> Cow<'static, str> {
        "Preset".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "The name of a preset: `gabfest preset` lists them.", "type": "string", "enum": NAMES })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(value: Value) -> Settings {
        serde_json::from_value(value).expect("settings")
    }

    #[test]
    fn every_file_can_be_read_and_printed() {
        for preset in Preset::all() {
            let (file, findings) = yaml::read::<Written>(preset.text(), preset.name());
            assert!(findings.is_empty() && file.is_some(), "{findings:?}");
            assert!(preset.about().len() > 10 && preset.text().starts_with("# "), "{preset:?}");
            let values = preset.read().needs.into_iter().map(|key| (key, "x".to_owned())).collect();
            let filled = preset.settings("http://h/", &values).expect("it can be filled in");
            assert!(filled.url.written().starts_with("http://h") && !format!("{filled:?}").contains('<'), "{filled:?}");
            let page = preset.page();
            let document = yaml::open(&page, "page").expect("YAML");
            assert!(document.value["agents"][preset.name()]["http"].is_object(), "{page}");
        }
    }

    #[test]
    fn written_settings_override_the_preset() {
        let above = settings(json!({
            "preset": "langgraph", "url": "http://h:1/", "with": { "assistant": "shop" },
            "headers": { "x-team": "qa" }, "reply": { "done": { "event": "end" } }, "statuses": { "404": "reply" },
        }));
        let filled = above.filled().expect("it fits").into_owned();
        assert_eq!(filled.url.written(), "http://h:1/threads/{{ session }}/runs/stream");
        let written = serde_json::to_value(&filled).unwrap();
        assert_eq!(written["body"]["assistant_id"], "shop");
        assert_eq!(
            (&written["start"]["url"], &written["headers"]["x-team"]),
            (&json!("http://h:1/threads"), &json!("qa"))
        );
        assert_eq!(written["reply"]["error"]["path"], "$.message");
        assert_eq!((&written["reply"]["done"]["event"], &written["statuses"]["404"]), (&json!("end"), &json!("reply")));
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        for (value, says) in [
            (json!({ "preset": "flowise", "url": "http://h" }), "its preset flowise needs `with: { flow: … }`"),
            (
                json!({ "preset": "rasa", "url": "http://h", "with": { "flow": "1" } }),
                "its preset rasa has no `with: { flow: … }`",
            ),
            (json!({ "url": "http://h", "with": { "flow": "1" } }), "fills in the blanks of a preset"),
        ] {
            let error = settings(value.clone()).filled().expect_err("refused").to_string();
            assert!(error.contains(says), "{value}: {error}");
        }
        let unknown = serde_json::from_value::<Settings>(json!({ "preset": "langraph", "url": "http://h" }));
        assert!(unknown.expect_err("refused").to_string().contains("unknown variant `langraph`, expected one of"));
    }
}
