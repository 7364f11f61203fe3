//! Rows of ElizaOS scenarios, and of what gabfest's own YAML has besides.

use scenario::Format;

use super::row::{Group, Row, fine, refused, warned};

const HIDES: &[&str] = &[
    "scenario: Refund",
    "description: d",
    "timeout_per_turn_ms: 30000",
    "total_timeout_ms: 300000",
    "debug_options: {log_user_simulation: false, log_turn_decisions: false, export_full_transcript: true}",
];

pub(super) const GROUPS: &[Group] = &[
    Group {
        name: "eliza files",
        format: Format::Eliza,
        file: "x.scenario.yaml",
        fence: "yaml",
        frame: "ROW",
        hides: HIDES,
        rows: FILES,
    },
    Group {
        name: "eliza steps",
        format: Format::Eliza,
        file: "x.scenario.yaml",
        fence: "yaml",
        frame: "name: Refund\ndescription: d\njudgment: {strategy: all_pass}\nrun:\nROW\n",
        hides: HIDES,
        rows: STEPS,
    },
    Group {
        name: "eliza conversations",
        format: Format::Eliza,
        file: "x.scenario.yaml",
        fence: "yaml",
        frame: "name: Refund\ndescription: d\njudgment: {strategy: all_pass}\nrun:\n- input: Hello\n  conversation:\nROW\n",
        hides: HIDES,
        rows: CONVERSATIONS,
    },
    Group {
        name: "eliza setup",
        format: Format::Eliza,
        file: "x.scenario.yaml",
        fence: "yaml",
        frame: "name: Refund\ndescription: d\njudgment: {strategy: all_pass}\nrun: [{input: Hello}]\nROW\n",
        hides: HIDES,
        rows: SETUP,
    },
    Group {
        name: "eliza ours",
        format: Format::Eliza,
        file: "x.scenario.yaml",
        fence: "yaml",
        frame: "name: Refund\ndescription: d\njudgment: {strategy: all_pass}\nROW\n",
        hides: HIDES,
        rows: OURS,
    },
];

const FILES: &[Row] = &[
    fine(
        "The smallest scenario: one message, and what must be true of the answer.",
        "name: Return policy\ndescription: The agent knows the return policy.\nrun:\n  - input: Can I return shoes?\n    evaluations:\n      - type: string_contains\n        value: 30 days\njudgment:\n  strategy: all_pass\n",
    )
    .unlike("`environment` is required, and has one possible value", "there is nothing to choose"),
    fine(
        "One check is enough with `any_pass`.",
        "name: Greeting\ndescription: A friendly word.\nrun:\n  - input: Hello\n    evaluations:\n      - {type: string_contains, value: Hello}\n      - {type: string_contains, value: Hi}\njudgment: {strategy: any_pass}\n",
    ),
    warned(
        "A key that nobody knows is a warning, and an error with `--strict`.",
        "name: Greeting\ndescription: A friendly word.\nrun:\n  - input: Hello\n    evaluations: [{type: string_contains, value: Hi, case_sensitiv: true}]\njudgment: {strategy: all_pass}\n",
    )
    .unlike("unknown keys are dropped in silence", "a check behind a misspelled key would never run"),
    refused(
        "A scenario without a check that has an unknown key is an error: the check may be behind that key.",
        "name: Greeting\ndescription: A friendly word.\nrun: [{input: Hello, evaluation: []}]\njudgment: {strategy: all_pass}\n",
    ),
    refused(
        "An unknown key below `gabfest` is an error: a requirement that is misspelt would be none.",
        "name: Greeting\ndescription: A friendly word.\nrun: [{input: Hello, evaluations: [{type: empty}]}]\ngabfest: {required_pas_rate: 1.0}\njudgment: {strategy: all_pass}\n",
    ),
    refused(
        "A list is no mapping.",
        "name: Greeting\ndescription: A friendly word.\nrun: [{input: Hello, evaluations: [{type: empty}]}]\njudgment: [all_pass]\n",
    ),
    refused(
        "Everything that is wrong is told at once, with its line.",
        "name: Greeting\nrun:\n  - inptu: Hello\njudgment: {strategy: most_pass}\n",
    ),
    refused("A key stands once.", "name: a\ndescription: b\nname: c\n"),
    refused("A file holds one document.", "name: a\n---\nname: b\n"),
];

const STEPS: &[Row] = &[
    fine("`input` is one message to the agent.", "- input: Where is my parcel?"),
    fine("Steps without `evaluations` are fine.", "- input: Hello\n- input: Bye\n  evaluations: [{type: empty, negate: true}]")
        .unlike("`evaluations` is required in each step", "the documentation's own first example has none"),
    fine(
        "`code` is a program on the worker's machine. It runs only where the operator allows it.",
        "- lang: python\n  code: print(1 + 1)\n  evaluations:\n    - {type: command_exit_code_is, command: ls, expected_code: 0}",
    )
    .unlike("`file_contains` and `command_exit_code_is` are in the documentation and not in the program", "the documentation says so"),
    warned("A step does one thing: `conversation`, else `input`, else `code`.", "- input: Hello\n  code: ls"),
    refused("A step that does nothing is an error.", "- name: Nothing"),
    refused("An evaluation has a `type`; a near name is suggested.", "- input: Hello\n  evaluations:\n    - {type: string_contain, value: a}"),
    refused("A misspelt key that is required is named.", "- input: Hello\n  evaluations:\n    - {typ: string_contains, value: a}"),
    refused("A pattern must compile. Patterns run in linear time.", "- input: Hello\n  evaluations:\n    - {type: regex_match, pattern: '(?=a)b'}"),
    refused("`expected` of a judge is `yes`, `no`, `0.8+`, `0.3-`, `0.4-0.6`, or a word.", "- input: Hello\n  evaluations:\n    - {type: llm_judge, prompt: Kind?, expected: 1.5+}"),
];

const CONVERSATIONS: &[Row] = &[
    fine(
        "A model plays the user.",
        "    max_turns: 4\n    user_simulator:\n      persona: an impatient customer\n      objective: get the money back\n    termination_conditions:\n      - type: user_expresses_satisfaction\n    final_evaluations:\n      - {type: conversation_length, max_turns: 4}\n",
    )
    .unlike(
        "`turn_evaluations` and `final_evaluations` have no part in the verdict, and four kinds of them are always failed",
        "what is judged counts",
    ),
    fine(
        "A condition may have words of its own, or ask a judge. The first that holds ends the conversation, and its name is kept.",
        "    max_turns: 4\n    user_simulator: {persona: p, objective: o}\n    termination_conditions:\n      - {type: agent_provides_solution, keywords: [voucher]}\n      - {type: custom_condition, llm_judge: {prompt: Was a voucher offered?}}\n",
    )
    .unlike(
        "the user's satisfaction is looked for in the agent's words and in the scenario's first line too, and the reason is guessed again afterwards",
        "only the user knows whether he is satisfied",
    ),
    fine(
        "Time limits hold: for one exchange, and for the whole conversation.",
        "    max_turns: 4\n    timeout_per_turn_ms: 5000\n    total_timeout_ms: 60000\n    user_simulator: {persona: p, objective: o}\n",
    )
    .unlike("both limits are ignored; one of 90 seconds holds", "a limit that is written is meant"),
    refused("Limits are those of ElizaOS.", "    max_turns: 25\n    user_simulator: {persona: p, objective: o}\n"),
    refused("A simulated user needs a persona and an objective.", "    max_turns: 4\n    user_simulator: {style: brief}\n"),
];

const SETUP: &[Row] = &[
    fine(
        "Plugins are names, or mappings; agents that understand them are started with them.",
        "plugins:\n  - '@elizaos/plugin-bootstrap'\n  - {name: '@elizaos/plugin-x', version: 1.2.0, config: {a: 1}}",
    )
    .unlike("three plugins are always added", "an agent under test has its own"),
    fine(
        "A mock answers a call of a tool. Of several that fit, the most precise one does; see [mocks.md](mocks.md).",
        "setup:\n  mocks:\n    - service: orders\n      method: find\n      when: {input: {id: 7}}\n      response: {state: sent}\n",
    ),
    refused(
        "A condition in words is a small expression. Anything else is an error at its line.",
        "setup:\n  mocks:\n    - {method: find, when: {matcher: 'while (true) {}'}, response: 1}\n",
    )
    .unlike("it is text that is always true", "a mock that always fits is none"),
    fine("Files for the steps that run programs.", "setup:\n  virtual_fs:\n    notes.txt: hello\n"),
    refused("A file stays below the trial's own folder.", "setup:\n  virtual_fs:\n    ../../etc/passwd: x\n")
        .unlike("`..` is followed", "a scenario from elsewhere must not write to this machine"),
];

const OURS: &[Row] = &[
    fine(
        "How often, how strictly, and with whom.",
        "run: [{input: Hello}]\ngabfest:\n  tags: [smoke]\n  repeats: 5\n  required_pass_rate: 0.8\n  weight: 3\n  personas: [Terse expert]\n",
    ),
    fine(
        "What was said before the first step.",
        "run: [{input: And in Rome?}]\ngabfest:\n  opening:\n    - {speaker: system, text: Be brief.}\n    - {speaker: user, text: Is it warm in Oslo?}\n    - {speaker: agent, text: 'No.'}\n",
    ),
    fine(
        "`expected` is the answer as it should be. It is no check: the mock agent says it, and with `history: expected` the next turn builds on it.",
        "run:\n  - input: Capital of Norway?\n    expected: Oslo.\n  - input: And of Italy?\ngabfest: {history: expected, on_failure: stop}\n",
    ),
    fine(
        "More than one message before an answer.",
        "run:\n  - input: Which is nicer?\n    gabfest:\n      messages:\n        - {speaker: user, text: Here are two pictures.}\n        - {speaker: user, parts: [{image: 'https://example.com/a.png'}]}\n      timeout_ms: 5000\n",
    ),
    fine(
        "`expect_failure` makes a negative control: PASS and FAIL are exchanged.",
        "run: [{input: Hello, evaluations: [{type: empty}]}]\ngabfest: {expect_failure: true}\n",
    ),
    fine(
        "A weight for each evaluation, and the share of the weight that must pass.",
        "run: [{input: Hello, evaluations: [{type: empty, negate: true, weight: 3}, {type: refusal, negate: true, required: false}]}]\ngabfest: {required_score: 0.75}\n",
    ),
    fine(
        "Rules for the arguments of an expected call.",
        "run:\n  - input: Book it.\n    evaluations:\n      - type: tool_calls\n        calls:\n          - name: book\n            argument_rules:\n              city: {equals: Rome}\n              guests: {checks: [{type: number, max: 8}]}\n              note: {optional: true}\n",
    ),
    refused("Shares are 0 to 1.", "run: [{input: Hello}]\ngabfest: {required_pass_rate: 80}\n"),
];
