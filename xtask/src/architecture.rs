//! Checks which crate may depend on which, with the data of `cargo metadata`.

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        process::Command,
    };

    /// The allowed dependencies between our crates. A new one is a decision: add a line here and in ARCHITECTURE.md.
    const ARROWS: &[(&str, &[&str])] = &[
        ("gabfest-cases", &[]),
        ("gabfest-invariants", &[]),
        ("gabfest-yaml", &[]),
        ("gabfest-scenario", &["gabfest-yaml"]),
        ("gabfest-formats", &["gabfest-yaml", "gabfest-scenario"]),
        ("gabfest-record", &["gabfest-scenario"]),
        ("gabfest-statistics", &["gabfest-scenario", "gabfest-record"]),
        ("gabfest-listen", &[]),
        ("gabfest-redact", &[]),
        ("gabfest-pki", &[]),
        ("gabfest-llm", &["gabfest-listen", "gabfest-redact"]),
        ("gabfest-store", &["gabfest-record", "gabfest-scenario"]),
        ("gabfest-history", &["gabfest-statistics"]),
        ("gabfest-lake", &["gabfest-record", "gabfest-scenario"]),
        (
            "gabfest-telemetry",
            &["gabfest-record", "gabfest-statistics", "gabfest-scenario", "gabfest-listen", "gabfest-redact"],
        ),
        ("gabfest-report", &["gabfest-record", "gabfest-statistics", "gabfest-scenario", "gabfest-formats"]),
        ("gabfest-agent", &["gabfest-yaml", "gabfest-scenario", "gabfest-record", "gabfest-llm"]),
        ("gabfest-embed", &["gabfest-llm"]),
        ("gabfest-evaluate", &["gabfest-yaml", "gabfest-scenario", "gabfest-record", "gabfest-llm"]),
        ("gabfest-user", &["gabfest-scenario", "gabfest-record", "gabfest-llm"]),
        ("gabfest-proto", &["gabfest-scenario", "gabfest-record"]),
        (
            "gabfest-worker",
            &[
                "gabfest-scenario",
                "gabfest-formats",
                "gabfest-record",
                "gabfest-llm",
                "gabfest-agent",
                "gabfest-evaluate",
                "gabfest-user",
                "gabfest-proto",
                "gabfest-telemetry",
                "gabfest-listen",
                "gabfest-redact",
            ],
        ),
        (
            "gabfest-expect",
            &[
                "gabfest-yaml",
                "gabfest-scenario",
                "gabfest-formats",
                "gabfest-record",
                "gabfest-llm",
                "gabfest-agent",
                "gabfest-telemetry",
                "gabfest-redact",
                "gabfest-worker",
            ],
        ),
        (
            "gabfest-coordinator",
            &[
                "gabfest-scenario",
                "gabfest-record",
                "gabfest-statistics",
                "gabfest-store",
                "gabfest-proto",
                "gabfest-telemetry",
                "gabfest-pki",
            ],
        ),
        // `cargo xtask chaos` uses gabfest as a program.
        ("xtask", &["gabfest-invariants"]),
    ];

    /// External libraries, and the only crates that may use them.
    const DOORS: &[(&str, &[&str])] = &[
        ("tonic", &["gabfest-proto", "gabfest-coordinator", "gabfest-worker", "gabfest", "gabfest-bench"]),
        ("prost", &["gabfest-proto", "gabfest-coordinator", "xtask"]),
        ("opentelemetry", &["gabfest-telemetry"]),
        ("tracing-subscriber", &["gabfest-telemetry"]),
        ("opentelemetry_sdk", &["gabfest-telemetry"]),
        ("opentelemetry-otlp", &["gabfest-telemetry"]),
        ("reqwest", &["gabfest-lake", "gabfest-embed", "gabfest-telemetry", "gabfest-worker", "gabfest-bench"]),
        ("hyper", &["gabfest-bench", "gabfest-llm", "gabfest-listen"]),
        ("hyper-rustls", &["gabfest-llm"]),
        ("rcgen", &["gabfest-pki"]),
        ("x509-parser", &["gabfest-pki"]),
        ("tokio-rustls", &["gabfest"]),
        ("governor", &["gabfest-telemetry"]),
        ("hdrhistogram", &["gabfest-llm"]),
        ("serde_yaml", &["gabfest-yaml"]),
        ("saphyr-parser", &["gabfest-yaml"]),
        ("sqlx", &["gabfest-store", "gabfest-history", "gabfest-worker"]),
        ("rusqlite", &["gabfest-worker"]),
        ("clap", &["gabfest", "xtask"]),
        ("indicatif", &["gabfest"]),
        ("prometheus", &["gabfest-telemetry"]),
        ("axum", &["gabfest-llm", "gabfest-telemetry", "gabfest-worker"]),
        ("rmcp", &["gabfest-worker"]),
        ("getrandom", &["gabfest-coordinator", "gabfest-worker", "gabfest-pki"]),
        ("candle-core", &["gabfest-embed"]),
        ("tokenizers", &["gabfest-embed"]),
        ("zip", &["gabfest-embed"]),
        ("rust_xlsxwriter", &["gabfest-report"]),
        ("parquet", &["gabfest-formats", "gabfest-lake"]),
        ("object_store", &["gabfest-lake"]),
        ("zstd", &["gabfest-store"]),
        ("fail", &["gabfest", "gabfest-coordinator", "gabfest-store", "gabfest-worker"]),
        ("csv", &["gabfest-report", "gabfest-evaluate", "gabfest-formats"]),
    ];

    /// Crates that decide and never wait: no runtime, no network.
    const PURE: &[&str] =
        &["gabfest-yaml", "gabfest-scenario", "gabfest-formats", "gabfest-record", "gabfest-statistics"];

    /// Package -> the packages that it uses outside of its tests.
    fn arrows() -> BTreeMap<String, BTreeSet<String>> {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        metadata["packages"]
            .as_array()
            .expect("packages")
            .iter()
            .map(|package| {
                let normal = package["dependencies"].as_array().expect("dependencies").iter();
                let names = normal
                    .filter(|dependency| dependency["kind"].is_null())
                    .map(|dependency| text(&dependency["name"]));
                (text(&package["name"]), names.collect())
            })
            .collect()
    }

    #[test]
    fn crates_name_only_what_they_may() {
        let arrows = arrows();
        for (crate_name, names) in &arrows {
            let ours: BTreeSet<&str> =
                names.iter().map(String::as_str).filter(|name| name.starts_with("gabfest")).collect();
            match ARROWS.iter().find(|(name, _)| name == crate_name) {
                Some((_, allowed)) => {
                    for name in ours {
                        assert!(allowed.contains(&name), "{crate_name} must not name {name}");
                    }
                }
                None => assert!(
                    ["gabfest", "gabfest-bench"].contains(&crate_name.as_str()),
                    "{crate_name} has no line in the table of arrows"
                ),
            }
        }
        assert_eq!(arrows.len(), ARROWS.len() + 2, "every crate of the table exists");
    }

    #[test]
    fn outside_libraries_come_in_by_their_door() {
        for (crate_name, names) in arrows() {
            for (library, doors) in DOORS {
                let named = names.iter().any(|name| name == library);
                assert!(!named || doors.contains(&crate_name.as_str()), "{crate_name} must not name {library}");
            }
        }
    }

    #[test]
    fn pure_crates_do_not_wait() {
        let arrows = arrows();
        for crate_name in PURE {
            for library in ["tokio", "futures-util", "async-trait", "reqwest", "sqlx", "tonic"] {
                assert!(!arrows[*crate_name].contains(library), "{crate_name} is pure and must not name {library}");
            }
        }
    }
}
