//! Reads arbitrary texts as a simulated user's answer, in both forms.

#![no_main]

use std::sync::LazyLock;

use scenario::conversation::Simulator;
use user::User;

static USERS: LazyLock<[Simulator; 2]> = LazyLock::new(|| {
    ["text", "json"].map(|reply| {
        serde_json::from_value(serde_json::json!({
            "model_type": "large", "temperature": 0.7, "max_tokens": 200, "persona": "p", "objective": "o", "style": null,
            "constraints": [], "emotional_state": null, "knowledge_level": "beginner",
            "gabfest": { "reply": reply, "tools": ["toggle"], "goal": [{ "id": "refund", "text": "30 EUR" }] },
        }))
        .expect("a simulated user")
    })
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(answer) = str::from_utf8(bytes) else { return };
    for simulator in USERS.iter() {
        let draft = User::new(simulator, true).expect("a user").read(answer.to_owned());
        assert_eq!(draft.raw, answer);
        assert!(draft.parts_done.iter().all(|part| part == "refund"));
    }
});
