use super::*;

fn pass(scenario: Option<&str>, persona: Option<&str>, turn: Option<u32>, probability: f64) -> PassRule {
    PassRule { scenario: scenario.map(Into::into), persona: persona.map(Into::into), turn, probability }
}

#[test]
fn the_most_specific_pass_rule_decides() {
    let behaviour = Behaviour {
        pass: vec![
            pass(None, None, None, 0.9),
            pass(Some("refund"), None, None, 0.8),
            pass(Some("refund"), Some("angry"), None, 0.7),
            pass(Some("refund"), Some("angry"), Some(2), 0.6),
            pass(Some("Refund"), None, None, 0.1),
        ],
        ..Behaviour::default()
    };
    let rows = [
        ("weather", "calm", 1, 0.9),
        ("A refund", "calm", 1, 0.8),
        ("A REFUND", "Very angry", 1, 0.7),
        ("refund", "angry", 2, 0.6),
    ];
    for (scenario, persona, turn, expected) in rows {
        assert_eq!(behaviour.pass_probability(scenario, persona, turn), expected, "{scenario} {persona} {turn}");
    }
    assert_eq!(Behaviour::default().pass_probability("any", "", 1), 1.0);
}

#[test]
fn a_file_may_say_little() {
    let behaviour: Behaviour = serde_json::from_value(serde_json::json!({
        "latency": { "kind": "lognormal", "ms": 200, "sigma": 0.5 },
        "rules": [{ "when": "(?i)hello", "reply": "hi" }],
        "judge": { "sensitivity": 0.9 },
    }))
    .expect("valid");
    assert_eq!(behaviour.judge.specificity, 1.0);
    assert_eq!(behaviour.rule_for(Role::Agent, "x", "Hello!").expect("matches").reply, "hi");
    let back: Behaviour = serde_json::from_value(serde_json::to_value(&behaviour).expect("writes")).expect("reads");
    assert_eq!(back, behaviour);
}

#[test]
fn a_pattern_that_does_not_compile_is_refused() {
    let error = serde_json::from_value::<Rule>(serde_json::json!({ "when": "(", "reply": "x" })).expect_err("refused");
    assert!(error.to_string().contains("unclosed group"), "{error}");
}

#[test]
fn delays_stay_in_their_bounds() {
    let uniform = Delay { kind: DelayKind::Uniform, min_ms: 5.0, max_ms: 9.0, ..Delay::default() };
    let lognormal = Delay { kind: DelayKind::Lognormal, ms: 100.0, sigma: 0.5, max_ms: 400.0, ..Delay::default() };
    let mut drawn: Vec<f64> = Vec::new();
    for seed in 0..4_001 {
        let ms = uniform.draw(Key::new(seed)).as_secs_f64() * 1e3;
        assert!((5.0..=9.0).contains(&ms), "{ms}");
        drawn.push(lognormal.draw(Key::new(seed)).as_secs_f64() * 1e3);
    }
    drawn.sort_by(f64::total_cmp);
    assert!((90.0..110.0).contains(&drawn[2_000]), "median {}", drawn[2_000]);
    assert!(drawn[4_000] <= 400.0);
    assert_eq!(Delay { ms: f64::NAN, ..Delay::default() }.draw(Key::new(1)), Duration::ZERO);
    assert_eq!(Delay::constant(-5.0).draw(Key::new(1)), Duration::ZERO);
}
