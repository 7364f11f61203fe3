//! The examples of docs/agents.md, docs/dialects.md and docs/models.md are settings, without anything that would be warned of.

use std::collections::BTreeMap;

use agent::Settings;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct File {
    agents: BTreeMap<String, Settings>,
}

#[derive(Deserialize, JsonSchema)]
struct Endpoints {
    endpoints: BTreeMap<String, llm::endpoint::Settings>,
}

const SECTIONS: [&str; 11] = [
    "http",
    "a2a",
    "ag_ui",
    "eliza",
    "subprocess",
    "websocket",
    "interactive",
    "replayed",
    "emely",
    "qnamaker",
    "custom-question-answering",
];

#[test]
fn every_example_can_be_used() {
    let page = include_str!("../../../../docs/agents.md");
    let mut agents = 0;
    for block in page.split("```yaml\n").skip(1) {
        let text = block.split("```").next().expect("a block has an end");
        let (file, findings) = yaml::read::<File>(text, "docs/agents.md");
        assert!(findings.is_empty(), "{text}: {findings:?}");
        for (name, settings) in file.expect("settings").agents {
            assert_eq!(settings.fault(), None, "{name}");
            // A chat model has no connection of its own.
            let written = serde_json::to_value(&settings).expect("settings are JSON");
            let sections = SECTIONS.iter().filter(|section| !written[**section].is_null()).count();
            assert_eq!(sections, 1, "{name}");
            agents += 1;
        }
    }
    assert!(agents >= 8, "{agents}");
}

#[test]
fn every_endpoint_of_the_pages_on_models_and_dialects_can_be_used() {
    let pages = [
        ("docs/dialects.md", include_str!("../../../../docs/dialects.md")),
        ("docs/models.md", include_str!("../../../../docs/models.md")),
    ];
    let mut names = Vec::new();
    for (path, page) in pages {
        for block in page.split("```yaml\n").skip(1) {
            let text = block.split("```").next().expect("a block has an end");
            let (file, findings) = yaml::read::<Endpoints>(text, path);
            assert!(findings.is_empty(), "{text}: {findings:?}");
            for (name, settings) in file.expect("settings").endpoints {
                assert_eq!(settings.fault(), None, "{name}");
                names.push(name);
            }
        }
    }
    assert_eq!(names, ["azure", "bedrock", "claude", "gemini", "gpt", "signed", "judge", "judge", "gateway"]);
}

#[test]
fn a_wrong_key_has_a_line_and_a_suggestion() {
    let text = "agents:\n  shop:\n    http:\n      url: http://h\n      boddy: {}\n      reply: { text: answer }\n";
    let (_, findings) = yaml::read::<File>(text, "gabfest.yaml");
    let shown = format!("{findings:?}");
    assert!(
        findings.iter().any(|finding| finding.line == 5) && shown.contains("boddy") && shown.contains("body"),
        "{shown}"
    );
    assert!(findings.iter().any(|finding| finding.line == 6) && shown.contains("not a JSONPath"), "{shown}");
}
