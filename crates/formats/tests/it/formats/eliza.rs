//! Rows of ElizaOS scenarios, and of gabfest's additions to their YAML.

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
        format: formats::eliza::FORMAT,
        file: "x.scenario.yaml",
        fence: "yaml",
        frame: "ROW",
        hides: HIDES,
        rows: FILES,
    },
    Group {
        name: "eliza steps",
        format: formats::eliza::FORMAT,
        file: "x.scenario.yaml",
        fence: "yaml",
        frame: "name: Refund\ndescription: d\njudgment: {strategy: all_pass}\nrun:\nROW\n",
        hides: HIDES,
        rows: STEPS,
    },
    Group {
        name: "eliza conversations",
        format: formats::eliza::FORMAT,
        file: "x.scenario.yaml",
        fence: "yaml",
        frame: "name: Refund\ndescription: d\njudgment: {strategy: all_pass}\nrun:\n- input: Hello\n  conversation:\nROW\n",
        hides: HIDES,
        rows: CONVERSATIONS,
    },
    Group {
        name: "eliza setup",
        format: formats::eliza::FORMAT,
        file: "x.scenario.yaml",
        fence: "yaml",
        frame: "name: Refund\ndescription: d\njudgment: {strategy: all_pass}\nrun: [{input: Hello}]\nROW\n",
        hides: HIDES,
        rows: SETUP,
    },
    Group {
        name: "eliza ours",
        format: formats::eliza::FORMAT,
        file: "x.scenario.yaml",
        fence: "yaml",
        frame: "name: Refund\ndescription: d\njudgment: {strategy: all_pass}\nROW\n",
        hides: HIDES,
        rows: OURS,
    },
];

const FILES: &[Row] = &[
    fine(
        "The smallest scenario: one message, and one check of the answer.",
        "name: Return policy\ndescription: The agent knows the return policy.\nrun:\n  - input: Can I return shoes?\n    evaluations:\n      - type: string_contains\n        value: 30 days\njudgment:\n  strategy: all_pass\n",
    )
    .unlike("`environment` is required, although it has only one possible value", "a key without a choice has no use"),
    fine(
        "With `any_pass`, one passing check is enough.",
        "name: Greeting\ndescription: A friendly word.\nrun:\n  - input: Hello\n    evaluations:\n      - {type: string_contains, value: Hello}\n      - {type: string_contains, value: Hi}\njudgment: {strategy: any_pass}\n",
    ),
    warned(
        "An unknown key is a warning, and an error with `--strict`.",
        "name: Greeting\ndescription: A friendly word.\nrun:\n  - input: Hello\n    evaluations: [{type: string_contains, value: Hi, case_sensitiv: true}]\njudgment: {strategy: all_pass}\n",
    )
    .unlike("unknown keys are ignored silently", "a check behind a misspelled key would never run"),
    refused(
        "An unknown key in a scenario without a check is an error: the key may be a misspelled check.",
        "name: Greeting\ndescription: A friendly word.\nrun: [{input: Hello, evaluation: []}]\njudgment: {strategy: all_pass}\n",
    ),
    refused(
        "An unknown key below `gabfest` is an error: a misspelled requirement would have no effect.",
        "name: Greeting\ndescription: A friendly word.\nrun: [{input: Hello, evaluations: [{type: empty}]}]\ngabfest: {required_pas_rate: 1.0}\njudgment: {strategy: all_pass}\n",
    ),
    refused(
        "A list in place of a mapping is an error.",
        "name: Greeting\ndescription: A friendly word.\nrun: [{input: Hello, evaluations: [{type: empty}]}]\njudgment: [all_pass]\n",
    ),
    refused(
        "gabfest reports all errors of a file at once, each with its line.",
        "name: Greeting\nrun:\n  - inptu: Hello\njudgment: {strategy: most_pass}\n",
    ),
    refused("Keys must be unique.", "name: a\ndescription: b\nname: c\n"),
    refused("A file contains one YAML document.", "name: a\n---\nname: b\n"),
];

const STEPS: &[Row] = &[
    fine("`input` is one message to the agent.", "- input: Where is my parcel?"),
    fine("`evaluations` is optional.", "- input: Hello\n- input: Bye\n  evaluations: [{type: empty, negate: true}]")
        .unlike("`evaluations` is required in each step", "the first example of its documentation has none"),
    fine(
        "`code` runs a program on the worker's machine, if the worker's operator allows it.",
        "- lang: python\n  code: print(1 + 1)\n  evaluations:\n    - {type: command_exit_code_is, command: ls, expected_code: 0}",
    )
    .unlike("the documentation describes `file_contains` and `command_exit_code_is`, but the program does not have them", "gabfest follows the documentation"),
    warned("A step does one thing. `conversation` takes precedence over `input`, and `input` over `code`.", "- input: Hello\n  code: ls"),
    refused("A step without `input`, `conversation` and `code` is an error.", "- name: Nothing"),
    refused("An unknown `type` is an error, with a suggestion.", "- input: Hello\n  evaluations:\n    - {type: string_contain, value: a}"),
    refused("If a required key is misspelled, the error names the misspelled key.", "- input: Hello\n  evaluations:\n    - {typ: string_contains, value: a}"),
    refused("A pattern must compile. Patterns run in linear time, so some features do not exist.", "- input: Hello\n  evaluations:\n    - {type: regex_match, pattern: '(?=a)b'}"),
    refused("`expected` of a judge is `yes`, `no`, `0.8+`, `0.3-`, `0.4-0.6`, or a word.", "- input: Hello\n  evaluations:\n    - {type: llm_judge, prompt: Kind?, expected: 1.5+}"),
];

const CONVERSATIONS: &[Row] = &[
    fine(
        "A language model plays the user.",
        "    max_turns: 4\n    user_simulator:\n      persona: an impatient customer\n      objective: get the money back\n    termination_conditions:\n      - type: user_expresses_satisfaction\n    final_evaluations:\n      - {type: conversation_length, max_turns: 4}\n",
    )
    .unlike(
        "`turn_evaluations` and `final_evaluations` do not affect the verdict, and four kinds of them always fail",
        "a check that runs must count",
    ),
    fine(
        "A condition can have its own keywords, or ask a judge. The first condition that holds ends the conversation, and the record names it.",
        "    max_turns: 4\n    user_simulator: {persona: p, objective: o}\n    termination_conditions:\n      - {type: agent_provides_solution, keywords: [voucher]}\n      - {type: custom_condition, llm_judge: {prompt: Was a voucher offered?}}\n",
    )
    .unlike(
        "the runner also searches the agent's words and the scenario's first line for the user's satisfaction, and guesses the reason again afterwards",
        "only the user's words show whether the user is satisfied",
    ),
    fine(
        "Time limits apply to one exchange, and to the whole conversation.",
        "    max_turns: 4\n    timeout_per_turn_ms: 5000\n    total_timeout_ms: 60000\n    user_simulator: {persona: p, objective: o}\n",
    )
    .unlike("it ignores both limits and uses one of 90 seconds", "a limit must have an effect"),
    refused("Values have the same limits as in ElizaOS.", "    max_turns: 25\n    user_simulator: {persona: p, objective: o}\n"),
    refused("A simulated user needs a persona and an objective.", "    max_turns: 4\n    user_simulator: {style: brief}\n"),
];

const SETUP: &[Row] = &[
    fine(
        "Plugins are names or mappings. Agents that support plugins start with them.",
        "plugins:\n  - '@elizaos/plugin-bootstrap'\n  - {name: '@elizaos/plugin-x', version: 1.2.0, config: {a: 1}}",
    )
    .unlike("it always adds three plugins", "an agent under test has its own plugins"),
    fine(
        "A mock answers a tool call. If several mocks match, the most specific one answers; see [mocks.md](mocks.md).",
        "setup:\n  mocks:\n    - service: orders\n      method: find\n      when: {input: {id: 7}}\n      response: {state: sent}\n",
    ),
    refused(
        "A `matcher` is a small expression. Anything else is an error.",
        "setup:\n  mocks:\n    - {method: find, when: {matcher: 'while (true) {}'}, response: 1}\n",
    )
    .unlike("it is a text, which is always true", "a condition must be able to fail"),
    fine("`virtual_fs` creates files for steps that run programs.", "setup:\n  virtual_fs:\n    notes.txt: hello\n"),
    refused("Files must be below the trial's own folder.", "setup:\n  virtual_fs:\n    ../../etc/passwd: x\n")
        .unlike("it follows `..`", "a downloaded scenario must not write to the machine"),
];

const OURS: &[Row] = &[
    fine(
        "The number of repeats, the required pass rate, and the personas.",
        "run: [{input: Hello}]\ngabfest:\n  tags: [smoke]\n  repeats: 5\n  required_pass_rate: 0.8\n  weight: 3\n  personas: [Terse expert]\n",
    ),
    fine(
        "`opening` contains messages before the first step.",
        "run: [{input: And in Rome?}]\ngabfest:\n  opening:\n    - {speaker: system, text: Be brief.}\n    - {speaker: user, text: Is it warm in Oslo?}\n    - {speaker: agent, text: 'No.'}\n",
    ),
    fine(
        "`expected` is the expected answer. It is not a check: the mock agent says it, and with `history: expected` the next turn builds on it.",
        "run:\n  - input: Capital of Norway?\n    expected: Oslo.\n  - input: And of Italy?\ngabfest: {history: expected, on_failure: stop}\n",
    ),
    fine(
        "`messages` sends more than one message before an answer.",
        "run:\n  - input: Which is nicer?\n    gabfest:\n      messages:\n        - {speaker: user, text: Here are two pictures.}\n        - {speaker: user, parts: [{image: 'https://example.com/a.png'}]}\n      timeout_ms: 5000\n",
    ),
    fine(
        "`expect_failure` makes a negative control: it swaps PASS and FAIL.",
        "run: [{input: Hello, evaluations: [{type: empty}]}]\ngabfest: {expect_failure: true}\n",
    ),
    fine(
        "Each evaluation can have a weight. `required_score` is the share of the weight that must pass.",
        "run: [{input: Hello, evaluations: [{type: empty, negate: true, weight: 3}, {type: refusal, negate: true, required: false}]}]\ngabfest: {required_score: 0.75}\n",
    ),
    fine(
        "`argument_rules` sets rules for the arguments of an expected call.",
        "run:\n  - input: Book it.\n    evaluations:\n      - type: tool_calls\n        calls:\n          - name: book\n            argument_rules:\n              city: {equals: Rome}\n              guests: {checks: [{type: number, max: 8}]}\n              note: {optional: true}\n",
    ),
    fine(
        "`vars` are put in for `${vars.NAME}`. A value that is only a variable keeps its type; see [data.md](data.md).",
        "run: [{input: 'Is it warm in ${vars.city}?', gabfest: {timeout_ms: '${vars.patience}'}}]\ngabfest:\n  vars: {city: Oslo, patience: 5000}\n",
    ),
    refused(
        "A variable that is not defined is an error.",
        "run: [{input: 'Is it warm in ${vars.town}?'}]\ngabfest: {vars: {city: Oslo}}\n",
    ),
    refused("Shares are from 0 to 1.", "run: [{input: Hello}]\ngabfest: {required_pass_rate: 80}\n"),
];
