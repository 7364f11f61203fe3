//! Think time and typing speed: waits before the user's lines, which are nobody's latency.

use ::scenario::{
    Load,
    load::{LoadGroup, Pace, Profile, Share},
};
use record::view::verdict_view;

use super::*;

fn paused(plan: &Arc<Plan>) -> Arc<Plan> {
    Arc::new(Plan { think_time: true, ..(**plan).clone() })
}

fn three_lines(more: Value) -> Value {
    let line = |text: &str| json!({ "name": text, "input": text, "evaluations": [] });
    scenario(json!([line("one"), line("two"), line("three")]), more)
}

#[tokio::test(start_paused = true)]
async fn a_user_thinks_before_each_line_but_the_first_and_only_where_the_plan_says_so() {
    let written = three_lines(json!({ "gabfest": { "think_time": { "ms": 60_000 } } }));
    let unplayed = plan(&written, 1);
    let at_once = play_one(&unplayed, 0, 1, Cast::plain().resources()).await;
    let slow = play_one(&paused(&unplayed), 0, 1, Cast::plain().resources()).await;
    assert_eq!(slow.took - at_once.took, 2 * 60 * SECOND, "before the second line and the third");
    let durations = |played: &Played| played.turns.iter().map(|turn| turn.duration_micros).collect::<Vec<_>>();
    assert_eq!(durations(&slow), durations(&at_once), "a pause is not latency");
    let responses = |played: &Played| played.turns.iter().map(|turn| turn.response_micros).collect::<Vec<_>>();
    assert_eq!(responses(&slow), responses(&at_once), "nor does the user wait for it");
    // Nothing else changes.
    assert_eq!(verdict_view(&slow.trial), verdict_view(&at_once.trial));
}

#[tokio::test(start_paused = true)]
async fn a_simulated_user_has_its_own_pauses_and_typing_takes_as_long_as_the_line() {
    let user = json!({
        "persona": "a traveller", "objective": "learn the weather",
        "gabfest": { "think_time": { "ms": 1_000 }, "typing_speed": { "words_per_minute": 12 }, "self_check": "off" },
    });
    let talk = talk(json!({ "user_simulator": user }));
    let written = scenario(json!([talk]), json!({ "gabfest": { "think_time": { "ms": 500_000 } } }));
    let unplayed = plan(&written, 1);
    let at_once = play_one(&unplayed, 0, 1, Cast::plain().resources()).await;
    let slow = play_one(&paused(&unplayed), 0, 1, Cast::plain().resources()).await;
    // Two simulated lines of 13 characters, at one character a second, after a second each.
    assert_eq!((slow.took - at_once.took).as_millis(), 2 * 14_000);
}

#[tokio::test(start_paused = true)]
async fn a_load_always_plays_the_pauses() {
    let written = three_lines(json!({ "gabfest": { "think_time": { "kind": "exponential", "ms": 60_000 } } }));
    let unplayed = plan(&written, 1);
    let pace = Pace::Slots { slots: Profile::constant(1.0, 1_000_000), trials: Some(1), ends_micros: None };
    let share = Share { group: 0, weight: 1, cases: None };
    let group = LoadGroup { name: "all".to_owned(), pace, mix: vec![share] };
    let load = Load { groups: vec![group], warm_up_micros: 0, drop_after_micros: 0, search: None };
    let with_load = Arc::new(Plan { load: Some(load), ..(*unplayed).clone() });
    let cast = Cast::plain();
    let of_load = play_one(&with_load, 0, 1, cast.resources()).await;
    let by_flag = play_one(&paused(&unplayed), 0, 1, cast.resources()).await;
    assert_eq!(of_load.took, by_flag.took, "the same trial has the same pauses");
    assert!(of_load.took > SECOND);
}
