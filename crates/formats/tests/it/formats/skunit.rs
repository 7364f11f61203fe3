//! Rows of skUnit pages.

use super::row::{Group, Row, fine, refused, warned};

const HIDES: &[&str] = &["scenario: x", "on_failure: stop", "history: expected"];

const TURN: &str = "## [USER]\nHi\n\n## [AGENT]\nHo\n\nROW\n";

pub(super) const GROUPS: &[Group] = &[
    Group {
        name: "skunit pages",
        format: formats::skunit::FORMAT,
        file: "x.skunit.md",
        fence: "md",
        frame: "ROW",
        hides: HIDES,
        rows: PAGES,
    },
    Group {
        name: "skunit checks",
        format: formats::skunit::FORMAT,
        file: "x.skunit.md",
        fence: "md",
        frame: TURN,
        hides: HIDES,
        rows: CHECKS,
    },
    Group {
        name: "skunit invocations",
        format: formats::skunit::FORMAT,
        file: "x.skunit.md",
        fence: "md",
        frame: "ROW",
        hides: HIDES,
        rows: INVOCATIONS,
    },
    Group {
        name: "skunit settings",
        format: formats::skunit::FORMAT,
        file: "x.skunit.md",
        fence: "md",
        frame: "ROW",
        hides: HIDES,
        rows: SETTINGS,
    },
    Group {
        name: "skunit differences",
        format: formats::skunit::FORMAT,
        file: "x.skunit.md",
        fence: "md",
        frame: "ROW",
        hides: HIDES,
        rows: DIFFERENCES,
    },
];

const PAGES: &[Row] = &[
    fine(
        "The smallest page. The text below `SCENARIO` describes the scenario.",
        "# SCENARIO Opening hours\n\n## [USER]\nWhen do you open on Saturdays?\n\n## [AGENT]\nWe open at 10 o'clock on Saturdays.\n\n### CHECK SemanticSimilar\n",
    ),
    fine(
        "`[ASSISTANT]` is a synonym of `[AGENT]`, and `ASSERT` of `CHECK`. gabfest sends all messages since the last answer together.",
        "# SCENARIO Menu\n## [SYSTEM]\nYou are a waiter.\n## [TOOL]\nsoup, risotto\n## [USER]\nWhat is there today?\n## [ASSISTANT]\n### ASSERT Contains\nsoup\n",
    ),
    fine(
        "A line of five or more dashes starts the next scenario.",
        "## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n-----\n## [USER]\nBye\n## [AGENT]\n### CHECK NotEmpty\n",
    ),
    fine(
        "A word before the keyword is an identifier. Only headings with this identifier are statements then; other headings are text.",
        "# ~ SCENARIO Headings\n## ~ [USER]\nWhat does this page say?\n## [USER]\nnobody speaks here\n## ~ [AGENT]\n### ~ CHECK NotEmpty\n",
    ),
    fine(
        "`### Text` and `### Image` split a message into parts.",
        "## [USER]\n### Text\nIs this a cat?\n### Image\n![a photo](https://example.com/cat.png)\n## [AGENT]\n### CHECK Contains\nyes\n",
    ),
    fine(
        "`{Name}` is a parameter. Its value comes from the settings, from `--set parameters.Name=VALUE`, or from a matrix.",
        "---\nparameters: {City: Rome}\n---\n## [USER]\nIs it warm in {City}?\n## [AGENT]\n### CHECK Contains\n{City}\n",
    ),
    warned(
        "A parameter without a value stays unchanged.",
        "## [USER]\nIs it warm in {City}?\n## [AGENT]\n### CHECK NotEmpty\n",
    ),
    fine(
        "A heading is a statement only if it is not in a fence, quote, list or HTML.",
        "## [USER]\n> ## [AGENT]\n\n```\n## [AGENT]\n```\n## [AGENT]\n### CHECK NotEmpty\n",
    ),
];

const CHECKS: &[Row] = &[
    fine(
        "`SemanticCondition` (`Semantic-Condition`, `Condition`): a judge decides whether the answer meets a condition.",
        "### CHECK SemanticCondition\nIt is polite.\n",
    ),
    fine(
        "`SemanticSimilar` (`Semantic-Similar`, `Similar`): a judge decides whether the answer means the same.",
        "### CHECK SemanticSimilar\nGood morning\n",
    ),
    fine(
        "A `CHECK` without a type is `SemanticSimilar`. Without a text it compares with the expected answer.",
        "### CHECK\n",
    ),
    fine(
        "`ContainsAll` (`Contains`, `Contain`, `ContainsText`): the answer contains every item of the list. `,` and `،` separate items.",
        "### CHECK ContainsAll\nhappy, day\n",
    ),
    fine(
        "`ContainsAny` (`ContainsAnyOf`): the answer contains at least one item.",
        "### CHECK ContainsAny\nhappy, sad\n",
    ),
    fine(
        "`Equal` (`Equals`, `ExactMatch`): the answer equals the text, ignoring white space around it.",
        "### CHECK Equal\nHo\n",
    ),
    fine("`IsAnyOf` (`AnyOf`, `OneOf`): the answer equals one item of the list.", "### CHECK IsAnyOf\nHo, Hello\n"),
    fine("`Empty` (`IsEmpty`): the answer is blank.", "### CHECK Empty\n"),
    fine("`NotEmpty` (`HasValue`): the answer is not blank.", "### CHECK NotEmpty\n"),
    fine(
        "`JsonCheck` (`JsonStructure`, `Json`): the JSON in the answer has these properties. A plain value means `Equals`; an object checks nested properties.",
        "### CHECK JsonCheck\n```json\n{\n  \"name\": [\"NotEmpty\"],\n  \"dishes\": [\"ContainsAll\", \"soup\", \"risotto\"],\n  \"guest\": { \"table\": 7 },\n}\n```\n",
    ),
    fine(
        "`FunctionCall` (`FunctionInvocation`, `ToolCall`): the agent called this tool in this turn.",
        "### CHECK FunctionCall\nGetFoodMenu\n",
    ),
    fine(
        "`FunctionCall` can check arguments. `match_strategy` is `LastCall` (default), `AnyCall` or `ExactSingleCall`.",
        "### CHECK FunctionCall\n```json\n{\n  \"function_name\": \"GetFoodMenu\",\n  \"arguments\": { \"mood\": [\"IsAnyOf\", \"Happy\", \"Sad\"], \"language\": \"en\" },\n  \"match_strategy\": \"AnyCall\"\n}\n```\n",
    ),
    fine(
        "`CALL` asks a function about the conversation, and the checks below it check the result. `$input` is the user's last message, `$history` the messages before it, `$chat` the whole conversation.",
        "## CALL Sentiment.Of\n{ \"text\": \"$input\" }\n### CHECK Equals\nhappy\n",
    ),
    refused("An unknown type is an error with a hint.", "### CHECK SemanticConditon\nIt is polite.\n"),
    refused("An unknown check in JSON is an error.", "### CHECK JsonCheck\n{ \"age\": [\"GreaterThan\", \"3\"] }\n"),
    refused("A fence must be closed.", "### CHECK Equals\n```\nHo\n"),
];

const INVOCATIONS: &[Row] = &[
    fine(
        "`PROMPT` asks one question. `{{$name}}` is a parameter, and `ANSWER` with a type is a check.",
        "# SCENARIO Mood\n## PROMPT\nIs this happy or angry: {{$input}}\n## PARAMETER input\nWhat a day!\n## ANSWER SemanticSimilar\nHappy.\n### CHECK Contains\nhappy\n",
    ),
    fine(
        "Without `PROMPT` gabfest sends the parameter `input`. `ANSWER` without a type is not a check.",
        "## PARAMETER input\nWhat a day!\n## ANSWER\nHappy.\n### CHECK\n",
    ),
    warned(
        "Without `PROMPT` the agent gets only `input`.",
        "## PARAMETER input\nWhat a day!\n## PARAMETER choices\nhappy, angry\n## ANSWER Equals\nhappy\n",
    )
    .unlike("a function gets all parameters", "an agent accepts messages"),
];

const SETTINGS: &[Row] = &[
    fine(
        "Front matter applies to all scenarios of the file.",
        "---\ntags: [smoke]\nrepeats: 3\nrequired_success_runs: 2\n---\n## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n",
    ),
    fine(
        "A fence below a `SCENARIO` heading applies to that scenario.",
        "# SCENARIO A negative control\n```gabfest\nexpect: fail\nhistory: actual\non_failure: continue\ntimeout_ms: 5000\n```\n## [USER]\nIs the Eiffel Tower tall?\n## [AGENT]\n### CHECK Contains\na small cottage\n",
    ),
    warned(
        "An unknown setting is a warning.",
        "---\nexpct: fail\n---\n## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n",
    ),
    refused(
        "`required_success_runs` cannot be more than `repeats`.",
        "---\nrequired_success_runs: 2\n---\n## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n",
    ),
];

const DIFFERENCES: &[Row] = &[
    refused("A check before any turn is an error.", "### CHECK NotEmpty\n## [USER]\nHi\n## [AGENT]\nHo\n")
        .unlike("it throws an exception without a line number", "an error must show its place"),
    refused("A check below a turn that is not the agent's is an error.", "## [USER]\nHi\n### CHECK NotEmpty\n## [AGENT]\nHo\n")
        .unlike("the check never runs", "people would believe that the check passes"),
    warned("A scenario without a check is a warning, and has no verdict.", "## [USER]\nHi\n## [AGENT]\nHo\n").unlike("it passes", "nothing was checked"),
    fine("An identifier is literal text, and can come from any first statement.", "## * [USER]\nHi\n## * [AGENT]\n### * CHECK NotEmpty\n")
        .unlike("it becomes part of a pattern, in which `*` throws an exception, and only `SCENARIO` defines it", "gabfest follows its documentation"),
    fine("A keyword ends with a space or the end of the line. `# CHECKLIST` is text.", "## [USER]\nHi\n## [AGENT]\n### CHECK Equals\nHo\n# CHECKLIST\n")
        .unlike("it is a `CHECK` of the type `LIST`", "it is a title"),
    fine("Dashes in a fence are text.", "## [USER]\n```\n-----\n```\n## [AGENT]\n### CHECK NotEmpty\n").unlike("it splits the file there", "a fence is one text"),
    fine("Lines can end with CRLF, and spaces can follow the dashes.", "## [USER]\r\nHi\r\n## [AGENT]\r\n### CHECK NotEmpty\r\n-----  \r\n## [USER]\r\nBye\r\n## [AGENT]\r\n### CHECK NotEmpty\r\n")
        .unlike("it splits the file only on the system on which the file was written", "files come from any system"),
    fine("A heading can have more than six hashes.", "######### [USER]\nHi\n######## [AGENT]\n####### CHECK NotEmpty\n").unlike("this is text", "its documentation allows any number"),
    warned("Text before the first statement is ignored.", "Some words about this page.\n\n## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n")
        .unlike("the text becomes part of the first message", "this is never intended"),
    fine("Empty items of a list are ignored.", "## [USER]\nHi\n## [AGENT]\n### CHECK ContainsAny\nhappy, ,\n").unlike("`ContainsAny` then always passes", "an extra comma is a typo"),
    refused("A list without items is an error.", "## [USER]\nHi\n## [AGENT]\n### CHECK ContainsAny\n , \n").unlike("`ContainsAny` then always passes", "the check would check nothing"),
    fine("In JSON, a text can contain commas, and numbers compare as text.", "## [USER]\nHi\n## [AGENT]\n### CHECK JsonCheck\n{ \"city\": [\"IsAnyOf\", \"Rome, Italy\", \"Oslo\"], \"age\": 30 }\n")
        .unlike("only the first of several texts can match, and numbers throw an exception", "JSON separates texts, and has numbers"),
    warned("A `[USER]` message without a following `[AGENT]` is a warning: gabfest never sends it.", "## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n## [USER]\nBye\n")
        .unlike("it is not sent either, but there is no warning", "it is almost always a mistake"),
    warned("A heading that resembles a statement is text, with a warning.", "## [USER]\nHi\n## [AGENT]\n### CHECK Equals\nHo\n## [User]\n")
        .unlike("it is text, without a warning", "it is almost always a typo"),
];
