//! The digests of what a run was made of.

use std::collections::BTreeMap;

use record::summary::{Contents, ScenarioContent, scenario_key};
use scenario::{Digest, Persona, Plan, plan::Group};
use serde_json::json;

#[must_use]
pub fn of(plan: &Plan) -> Contents {
    let mut scenarios: BTreeMap<String, ScenarioContent> = BTreeMap::new();
    for group in &plan.groups {
        let key = scenario_key(&group.source.path, &group.name);
        let digest = digest(group);
        match scenarios.get_mut(&key) {
            // Two files of one name in different folders.
            Some(other) => other.digest = short(&Digest::of(format!("{}{digest}", other.digest).as_bytes())),
            None => {
                scenarios.insert(key, ScenarioContent { digest, tags: group.tags.clone() });
            }
        }
    }
    let persona = |(name, persona): (&String, &Persona)| (name.clone(), short(&Digest::of_json(&json!(persona))));
    Contents { scenarios, personas: plan.personas.iter().map(persona).collect(), endpoints: plan.endpoints.clone() }
}

fn digest(group: &Group) -> String {
    let rows = group.rows.as_ref().map(scenario::Rows::digest);
    match rows {
        None => short(&Digest::of_json(&group.document)),
        Some(rows) => short(&Digest::of(format!("{}{rows}", Digest::of_json(&group.document)).as_bytes())),
    }
}

fn short(digest: &Digest) -> String {
    digest.short().to_owned()
}
