//! Rows of skUnit pages.

use scenario::Format;

use super::row::{Group, Row, fine, refused, warned};

const HIDES: &[&str] = &["scenario: x", "on_failure: stop", "history: expected"];

const TURN: &str = "## [USER]\nHi\n\n## [AGENT]\nHo\n\nROW\n";

pub(super) const GROUPS: &[Group] = &[
    Group {
        name: "skunit pages",
        format: Format::Skunit,
        file: "x.skunit.md",
        fence: "md",
        frame: "ROW",
        hides: HIDES,
        rows: PAGES,
    },
    Group {
        name: "skunit checks",
        format: Format::Skunit,
        file: "x.skunit.md",
        fence: "md",
        frame: TURN,
        hides: HIDES,
        rows: CHECKS,
    },
    Group {
        name: "skunit invocations",
        format: Format::Skunit,
        file: "x.skunit.md",
        fence: "md",
        frame: "ROW",
        hides: HIDES,
        rows: INVOCATIONS,
    },
    Group {
        name: "skunit settings",
        format: Format::Skunit,
        file: "x.skunit.md",
        fence: "md",
        frame: "ROW",
        hides: HIDES,
        rows: SETTINGS,
    },
    Group {
        name: "skunit differences",
        format: Format::Skunit,
        file: "x.skunit.md",
        fence: "md",
        frame: "ROW",
        hides: HIDES,
        rows: DIFFERENCES,
    },
];

const PAGES: &[Row] = &[
    fine(
        "The smallest page. Text beneath `SCENARIO` describes the scenario.",
        "# SCENARIO Opening hours\n\n## [USER]\nWhen do you open on Saturdays?\n\n## [AGENT]\nWe open at 10 o'clock on Saturdays.\n\n### CHECK SemanticSimilar\n",
    ),
    fine(
        "`[ASSISTANT]` is `[AGENT]`, `ASSERT` is `CHECK`. All messages since the last answer are sent together.",
        "# SCENARIO Menu\n## [SYSTEM]\nYou are a waiter.\n## [TOOL]\nsoup, risotto\n## [USER]\nWhat is there today?\n## [ASSISTANT]\n### ASSERT Contains\nsoup\n",
    ),
    fine(
        "A line of five or more dashes begins the next scenario.",
        "## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n-----\n## [USER]\nBye\n## [AGENT]\n### CHECK NotEmpty\n",
    ),
    fine(
        "A word before the keyword is an identifier. Then only headings that carry it count, and others are text.",
        "# ~ SCENARIO Headings\n## ~ [USER]\nWhat does this page say?\n## [USER]\nnobody speaks here\n## ~ [AGENT]\n### ~ CHECK NotEmpty\n",
    ),
    fine(
        "`### Text` and `### Image` cut a message into parts.",
        "## [USER]\n### Text\nIs this a cat?\n### Image\n![a photo](https://example.com/cat.png)\n## [AGENT]\n### CHECK Contains\nyes\n",
    ),
    fine(
        "`{Name}` is a parameter: of the settings, of `--set parameters.Name=VALUE`, or of a matrix.",
        "---\nparameters: {City: Rome}\n---\n## [USER]\nIs it warm in {City}?\n## [AGENT]\n### CHECK Contains\n{City}\n",
    ),
    warned(
        "A parameter without a value stays as it is.",
        "## [USER]\nIs it warm in {City}?\n## [AGENT]\n### CHECK NotEmpty\n",
    ),
    fine(
        "Headings count where they stand alone on their line: not in fences, quotes, lists or HTML.",
        "## [USER]\n> ## [AGENT]\n\n```\n## [AGENT]\n```\n## [AGENT]\n### CHECK NotEmpty\n",
    ),
];

const CHECKS: &[Row] = &[
    fine(
        "A judge finds that the answer meets a condition (also `Semantic-Condition`, `Condition`).",
        "### CHECK SemanticCondition\nIt is polite.\n",
    ),
    fine(
        "A judge finds that the answer means the same (also `Semantic-Similar`, `Similar`).",
        "### CHECK SemanticSimilar\nGood morning\n",
    ),
    fine("Without a type it is `SemanticSimilar`, which without a text takes the expected answer.", "### CHECK\n"),
    fine(
        "Each item of the list stands in the answer (also `Contains`, `Contain`, `ContainsText`). Lists are cut at `,` and `،`.",
        "### CHECK ContainsAll\nhappy, day\n",
    ),
    fine("One of them does (also `ContainsAnyOf`).", "### CHECK ContainsAny\nhappy, sad\n"),
    fine(
        "The answer is the text, but for white space around it (also `Equals`, `ExactMatch`).",
        "### CHECK Equal\nHo\n",
    ),
    fine("The answer is one of the list (also `AnyOf`, `OneOf`).", "### CHECK IsAnyOf\nHo, Hello\n"),
    fine("The answer is blank (also `IsEmpty`).", "### CHECK Empty\n"),
    fine("It is not (also `HasValue`).", "### CHECK NotEmpty\n"),
    fine(
        "The JSON in the answer has these properties (also `JsonStructure`, `Json`). A bare value means `Equals`, an object goes one level deeper.",
        "### CHECK JsonCheck\n```json\n{\n  \"name\": [\"NotEmpty\"],\n  \"dishes\": [\"ContainsAll\", \"soup\", \"risotto\"],\n  \"guest\": { \"table\": 7 },\n}\n```\n",
    ),
    fine(
        "The tool was called in this turn (also `FunctionInvocation`, `ToolCall`).",
        "### CHECK FunctionCall\nGetFoodMenu\n",
    ),
    fine(
        "With these arguments. `match_strategy` is `LastCall` unless written, `AnyCall` or `ExactSingleCall`.",
        "### CHECK FunctionCall\n```json\n{\n  \"function_name\": \"GetFoodMenu\",\n  \"arguments\": { \"mood\": [\"IsAnyOf\", \"Happy\", \"Sad\"], \"language\": \"en\" },\n  \"match_strategy\": \"AnyCall\"\n}\n```\n",
    ),
    fine(
        "A function is asked about the conversation, and the checks beneath are about its result. `$input` is the last message of the user, `$history` what stands before that, `$chat` all of it.",
        "## CALL Sentiment.Of\n{ \"text\": \"$input\" }\n### CHECK Equals\nhappy\n",
    ),
    refused("An unknown type is an error with a hint.", "### CHECK SemanticConditon\nIt is polite.\n"),
    refused("So is an unknown check in JSON.", "### CHECK JsonCheck\n{ \"age\": [\"GreaterThan\", \"3\"] }\n"),
    refused("A fence must be closed.", "### CHECK Equals\n```\nHo\n"),
];

const INVOCATIONS: &[Row] = &[
    fine(
        "One question: `{{$name}}` in the prompt is filled with the parameters, and `ANSWER` with a type is a check.",
        "# SCENARIO Mood\n## PROMPT\nIs this happy or angry: {{$input}}\n## PARAMETER input\nWhat a day!\n## ANSWER SemanticSimilar\nHappy.\n### CHECK Contains\nhappy\n",
    ),
    fine(
        "Without a prompt the parameter `input` is sent; `ANSWER` without a type is not checked.",
        "## PARAMETER input\nWhat a day!\n## ANSWER\nHappy.\n### CHECK\n",
    ),
    warned(
        "Without `PROMPT` an agent gets `input` alone.",
        "## PARAMETER input\nWhat a day!\n## PARAMETER choices\nhappy, angry\n## ANSWER Equals\nhappy\n",
    )
    .unlike("all parameters are handed to a function", "an agent takes messages"),
];

const SETTINGS: &[Row] = &[
    fine(
        "At the head of the file for all scenarios.",
        "---\ntags: [smoke]\nrepeats: 3\nrequired_success_runs: 2\n---\n## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n",
    ),
    fine(
        "In a fence beneath a heading for one scenario.",
        "# SCENARIO A negative control\n```gabfest\nexpect: fail\nhistory: actual\non_failure: continue\ntimeout_ms: 5000\n```\n## [USER]\nIs the Eiffel Tower tall?\n## [AGENT]\n### CHECK Contains\na small cottage\n",
    ),
    warned(
        "An unknown setting is a warning.",
        "---\nexpct: fail\n---\n## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n",
    ),
    refused(
        "More rounds cannot pass than are played.",
        "---\nrequired_success_runs: 2\n---\n## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n",
    ),
];

const DIFFERENCES: &[Row] = &[
    refused("A check before any turn is an error.", "### CHECK NotEmpty\n## [USER]\nHi\n## [AGENT]\nHo\n")
        .unlike("an exception without a line", "everybody should see where"),
    refused("So is a check under another turn than the agent's.", "## [USER]\nHi\n### CHECK NotEmpty\n## [AGENT]\nHo\n")
        .unlike("it never runs", "a check that does not run is believed to pass"),
    warned("A scenario without a check has no verdict.", "## [USER]\nHi\n## [AGENT]\nHo\n").unlike("it passes", "nothing was found out"),
    fine("An identifier is taken letter by letter, also from the first statement.", "## * [USER]\nHi\n## * [AGENT]\n### * CHECK NotEmpty\n")
        .unlike("it is put into a pattern, where `*` throws, and is taken from `SCENARIO` alone", "its documentation says so"),
    fine("A keyword ends with a space or the line: this is text.", "## [USER]\nHi\n## [AGENT]\n### CHECK Equals\nHo\n# CHECKLIST\n")
        .unlike("it is a `CHECK` of the type `LIST`", "titles are titles"),
    fine("Dashes in a fence are text.", "## [USER]\n```\n-----\n```\n## [AGENT]\n### CHECK NotEmpty\n").unlike("the file is cut there", "a fence is one text"),
    fine("CRLF, and spaces behind the dashes.", "## [USER]\r\nHi\r\n## [AGENT]\r\n### CHECK NotEmpty\r\n-----  \r\n## [USER]\r\nBye\r\n## [AGENT]\r\n### CHECK NotEmpty\r\n")
        .unlike("the file is not cut on other systems than the one that it was written on", "files come from any system"),
    fine("Seven and more hashes.", "######### [USER]\nHi\n######## [AGENT]\n####### CHECK NotEmpty\n").unlike("text", "its documentation says any number"),
    warned("Text before the first statement is ignored.", "Some words about this page.\n\n## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n")
        .unlike("it becomes part of the first message", "nobody means that"),
    fine("Empty items of a list are ignored.", "## [USER]\nHi\n## [AGENT]\n### CHECK ContainsAny\nhappy, ,\n").unlike("`ContainsAny` then always passes", "a comma too many is a slip"),
    refused("A list of nothing is an error.", "## [USER]\nHi\n## [AGENT]\n### CHECK ContainsAny\n , \n").unlike("`ContainsAny` then always passes", "nothing would be checked"),
    fine("In JSON, texts with commas stay whole and numbers are compared by their text.", "## [USER]\nHi\n## [AGENT]\n### CHECK JsonCheck\n{ \"city\": [\"IsAnyOf\", \"Rome, Italy\", \"Oslo\"], \"age\": 30 }\n")
        .unlike("only the first text of several can match; numbers throw", "JSON has texts and numbers"),
    warned("The last message of a user without `[AGENT]` is never sent.", "## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n## [USER]\nBye\n")
        .unlike("so there, in silence", "somebody forgot something"),
    warned("A heading that is nearly a statement is text, with a hint.", "## [USER]\nHi\n## [AGENT]\n### CHECK Equals\nHo\n## [User]\n")
        .unlike("text, in silence", "it is almost always a slip"),
];
