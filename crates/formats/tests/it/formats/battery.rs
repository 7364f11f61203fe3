//! Rows of quality batteries.

use super::row::{Group, Row, fine, refused, warned};

const HIDES: &[&str] = &["runs: 1"];

const fn group(name: &'static str, rows: &'static [Row]) -> Group {
    Group {
        name,
        format: formats::battery::FORMAT,
        file: "x.battery.yaml",
        fence: "yaml",
        frame: "ROW",
        hides: HIDES,
        rows,
    }
}

pub(super) const GROUPS: &[Group] = &[group("battery files", FILES), group("battery faults", FAULTS)];

const FILES: &[Row] = &[
    fine(
        "The smallest battery: lines of a tester, and one requirement that examines every reply.",
        "name: Small talk\ntester:\n  lines: [Hey, I went for a walk.]\nrequirements:\n  ML-A6: true\n",
    ),
    fine(
        "Name a requirement as in the document, by its test case, or as in the later revision. A number is the probability that a turn becomes its test.",
        "name: Memory\ntester:\n  model: {persona: a colleague, objective: have a chat}\nconversation_length: 20\nruns: 3\nrequirements:\n  MLI1TC1: {probability: 0.2, max_sets: 2, max_wait: 4, required: 0.5}\n  REQ_U3: 0.1\n  ML-P1: {required: 0.9}\n",
    ),
    fine(
        "`data` replaces the built-in data sets.",
        "name: Memory\ntester: {lines: [Hey, Ho, Hm, So, Well, Bye]}\nrequirements:\n  ML-I4: {probability: 0.2, max_sets: 1}\ndata:\n  - {id: 9001, kind: QA, information: [My cat is called Tom.], questions: [What is the name of my cat?], answer: Tom, extract: What is the name of the cat?}\n",
    ),
];

const FAULTS: &[Row] = &[
    refused(
        "`I1` alone is an error, because the two schemes number requirements differently.",
        "name: b\ntester: {lines: [Hey]}\nrequirements: {I1: 0.1}\n",
    ),
    refused(
        "The sum of probabilities is at most 1.",
        "name: b\ntester: {lines: [Hey, Ho]}\nconversation_length: 20\nrequirements: {ML-U3: 0.8, ML-I4: 0.3}\n",
    )
    .unlike("it does not check the sum", "later requirements would never be tested"),
    refused("A battery must examine something.", "name: b\ntester: {lines: [Hey]}\nrequirements: {ML-A6: false}\n"),
    refused("A battery needs a `tester`.", "name: b\nrequirements: {ML-A6: true}\n"),
    warned(
        "A requirement that never has room is a warning.",
        "name: b\ntester: {lines: [Hey, Ho]}\nrequirements: {ML-A6: true, REQ_I5: 0.2}\n",
    )
    .unlike("there is no warning", "its results would be empty"),
];
