//! `gabfest selftest` measures the machine and says what with.

use crate::process::Place;

#[test]
fn the_limits_of_this_machine_are_measured() {
    let ended = Place::new().run(&["selftest", "--seconds", "1", "--json"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let results: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(results["turns_a_second"].as_f64().unwrap() > 10.0, "{results:#}");
    let timers: Vec<&str> = results["timers"].as_array().unwrap().iter().flat_map(|of| of["timer"].as_str()).collect();
    let linux = cfg!(target_os = "linux");
    assert_eq!(timers, if linux { vec!["timerfd", "runtime"] } else { vec!["runtime"] });
    for of in results["latency"].as_array().unwrap() {
        assert!(of["turns"].as_u64().unwrap() > 0, "{results:#}");
        // The mock replies after 20 ms and reports its own time: the rest is gabfest's part.
        assert!(of["error_p50_ms"].as_f64().unwrap().abs() < 1_000.0, "{results:#}");
    }
    assert_eq!(results["latency"].as_array().unwrap().len(), 3);
}
