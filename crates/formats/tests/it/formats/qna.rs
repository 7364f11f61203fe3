//! Rows of knowledge bases: `.qna` files, JSON and the batch tester's table.

use super::row::{Group, Row, fine, refused, warned};

const HIDES: &[&str] = &[];

pub(super) const GROUPS: &[Group] = &[
    Group {
        name: "qna files",
        format: formats::qna::FORMAT,
        file: "x.qna",
        fence: "markdown",
        frame: "ROW",
        hides: HIDES,
        rows: FILES,
    },
    Group {
        name: "qna faults",
        format: formats::qna::FORMAT,
        file: "x.qna",
        fence: "markdown",
        frame: "ROW",
        hides: HIDES,
        rows: FAULTS,
    },
    Group {
        name: "qna json",
        format: formats::qna::FORMAT,
        file: "x.qna.json",
        fence: "json",
        frame: "ROW",
        hides: HIDES,
        rows: JSON,
    },
    Group {
        name: "qna tsv",
        format: formats::qna::FORMAT,
        file: "x.qna.tsv",
        fence: "text",
        frame: "ROW",
        hides: HIDES,
        rows: TSV,
    },
];

const FILES: &[Row] = &[
    fine(
        "A pair is a question with its answer in a fence. The number of hashes is free.",
        "# ? How do I return an order?\n```markdown\nPrint the label and bring it to the post office.\n```\n",
    ),
    fine(
        "Lines with `-`, `*` or `+` are variants of the question. Each one is a separate case.",
        "# ? How do I return an order?\n- I want to send something back\n* Where is the return label?\n```\nPrint the label.\n```\n",
    ),
    fine(
        "Filters are metadata by which the service filters. They can be before or after the answer.",
        "# ? When do you open?\n**Filters:**\n- city = Rome\n- note = a = b\n```\nAt 9.\n```\n",
    )
    .unlike("a second `=` ends the value", "a value can contain `=`"),
    fine(
        "If a pair has an id, the answer must have the same id.",
        "<a id = \"7\"></a>\n# ? When do you open?\n```\nAt 9.\n```\n",
    ),
    fine(
        "Prompts offer follow-up questions, by id or by question. A `context-only` pair can be reached only through the prompt.",
        "<a id = \"1\"></a>\n# ? When do you open?\n```\nAt 9.\n```\n**Prompts:**\n- [And on Sundays?](#?sundays) `context-only`\n\n# ? sundays\n```\nAt 11.\n```\n",
    ),
    fine(
        "A file can contain a source, other information, alterations, and comments.",
        "> !# @kb.name = Shop\n> any words\n> !# @qna.pair.source = manual\n# ? When do you open?\n```\nAt 9.\n```\n$shop : qna-alterations =\n- store\n",
    ),
    fine("A fence can contain shorter fences.", "# ? How is it written?\n````\n```rust\nlet x = 1;\n```\n````\n")
        .unlike("an answer cannot contain a fence", "answers can contain code"),
    fine(
        "gabfest keeps a web address and never opens it.",
        "[manual](https://example.com/manual.pdf)\n# ? When do you open?\n```\nAt 9.\n```\n",
    )
    .unlike("the tool downloads it", "a test must not depend on a download"),
];

const FAULTS: &[Row] = &[
    refused("A variant needs a mark before it.", "# ? When do you open?\nopening hours\n```\nAt 9.\n```\n"),
    refused("A question needs an answer.", "# ? When do you open?\n# ? When do you close?\n```\nAt 9.\n```\n"),
    refused("A fence must be closed.", "# ? When do you open?\n```\nAt 9.\n"),
    refused("Ids are whole numbers and unique.", "<a id = \"x\"></a>\n# ? When do you open?\n```\nAt 9.\n```\n")
        .unlike("the id becomes 0", "the service has no such ids"),
    refused(
        "A prompt must refer to an existing pair.",
        "# ? When do you open?\n```\nAt 9.\n```\n**Prompts:**\n- [And on Sundays?](#12)\n",
    ),
    refused(
        "An imported file must exist, below the folder named on the command line. Circular imports are an error.",
        "[more](../elsewhere.qna)\n# ? When do you open?\n```\nAt 9.\n```\n",
    )
    .unlike("it reads any file", "a downloaded file must not read other files of the machine"),
];

const JSON: &[Row] = &[
    fine(
        "gabfest reads the service's export and ignores unknown keys.",
        "{ \"qnaList\": [{ \"id\": 3, \"questions\": [\"When do you open?\"], \"answer\": \"At 9.\", \"metadata\": [{ \"name\": \"city\", \"value\": \"Rome\" }] }] }",
    ),
    warned(
        "An invalid address is a warning, and is ignored.",
        "{ \"qnaList\": [{ \"questions\": [\"Open?\"], \"answer\": \"Yes.\" }], \"files\": [{ \"fileName\": \"m.pdf\", \"fileUri\": \"m.pdf\" }] }",
    ),
    refused("A pair needs an answer and questions.", "{ \"qnaList\": [{ \"questions\": [\"Open?\"] }] }"),
];

const TSV: &[Row] = &[
    fine(
        "Each line has the knowledge base, the question, metadata, the number of answers to request, and the expected id, separated by tabs. The last three are optional.",
        "kb1\tWhen do you open?\tcity:Rome|kind:shop\t3\t17\n",
    ),
    refused("A line needs a question, and numbers must be numeric.", "kb1\nkb1\tWhen?\t\tthree\n"),
];
