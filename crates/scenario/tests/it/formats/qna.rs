//! Rows of knowledge bases: `.qna` files, JSON and the batch tester's table.

use scenario::Format;

use super::row::{Group, Row, fine, refused, warned};

const HIDES: &[&str] = &[];

pub(super) const GROUPS: &[Group] = &[
    Group {
        name: "qna files",
        format: Format::Qna,
        file: "x.qna",
        fence: "markdown",
        frame: "ROW",
        hides: HIDES,
        rows: FILES,
    },
    Group {
        name: "qna faults",
        format: Format::Qna,
        file: "x.qna",
        fence: "markdown",
        frame: "ROW",
        hides: HIDES,
        rows: FAULTS,
    },
    Group {
        name: "qna json",
        format: Format::Qna,
        file: "x.qna.json",
        fence: "json",
        frame: "ROW",
        hides: HIDES,
        rows: JSON,
    },
    Group {
        name: "qna tsv",
        format: Format::Qna,
        file: "x.qna.tsv",
        fence: "text",
        frame: "ROW",
        hides: HIDES,
        rows: TSV,
    },
];

const FILES: &[Row] = &[
    fine(
        "A pair: a question, and the answer in a fence. Another number of hashes will do.",
        "# ? How do I return an order?\n```markdown\nPrint the label and bring it to the post office.\n```\n",
    ),
    fine(
        "Lines with `-`, `*` or `+` are other ways to ask. Each question is a case of its own.",
        "# ? How do I return an order?\n- I want to send something back\n* Where is the return label?\n```\nPrint the label.\n```\n",
    ),
    fine(
        "Filters are metadata that the service filters by. They stand before or after the answer.",
        "# ? When do you open?\n**Filters:**\n- city = Rome\n- note = a = b\n```\nAt 9.\n```\n",
    )
    .unlike("a value is cut at a second `=`", "a value may hold one"),
    fine(
        "An id is compared too; the answer's id must be that one.",
        "<a id = \"7\"></a>\n# ? When do you open?\n```\nAt 9.\n```\n",
    ),
    fine(
        "Prompts are what is offered next, by id or by question. `context-only`: the pair is reached this way alone.",
        "<a id = \"1\"></a>\n# ? When do you open?\n```\nAt 9.\n```\n**Prompts:**\n- [And on Sundays?](#?sundays) `context-only`\n\n# ? sundays\n```\nAt 11.\n```\n",
    ),
    fine(
        "A source, other information, alterations, and comments.",
        "> !# @kb.name = Shop\n> any words\n> !# @qna.pair.source = manual\n# ? When do you open?\n```\nAt 9.\n```\n$shop : qna-alterations =\n- store\n",
    ),
    fine(
        "A fence of more backticks may hold shorter ones.",
        "# ? How is it written?\n````\n```rust\nlet x = 1;\n```\n````\n",
    )
    .unlike("an answer cannot hold a fence", "answers show code"),
    fine(
        "A web address is kept and never opened.",
        "[manual](https://example.com/manual.pdf)\n# ? When do you open?\n```\nAt 9.\n```\n",
    )
    .unlike("it is asked what is behind it", "a test must not depend on it"),
];

const FAULTS: &[Row] = &[
    refused("A variant has a mark before it.", "# ? When do you open?\nopening hours\n```\nAt 9.\n```\n"),
    refused("A question has an answer.", "# ? When do you open?\n# ? When do you close?\n```\nAt 9.\n```\n"),
    refused("The fence is closed.", "# ? When do you open?\n```\nAt 9.\n"),
    refused(
        "Ids are whole numbers, and each stands once.",
        "<a id = \"x\"></a>\n# ? When do you open?\n```\nAt 9.\n```\n",
    )
    .unlike("the id becomes 0", "the service has no such ids"),
    refused(
        "A prompt leads to something.",
        "# ? When do you open?\n```\nAt 9.\n```\n**Prompts:**\n- [And on Sundays?](#12)\n",
    ),
    refused(
        "A file that is imported is there, below the folder that was named on the command line. Imports that lead in a circle are refused.",
        "[more](../elsewhere.qna)\n# ? When do you open?\n```\nAt 9.\n```\n",
    )
    .unlike("any file is read", "a file from elsewhere must not read this machine's"),
];

const JSON: &[Row] = &[
    fine(
        "What the service exports; keys that are not known are left alone.",
        "{ \"qnaList\": [{ \"id\": 3, \"questions\": [\"When do you open?\"], \"answer\": \"At 9.\", \"metadata\": [{ \"name\": \"city\", \"value\": \"Rome\" }] }] }",
    ),
    warned(
        "An address that is none is left out.",
        "{ \"qnaList\": [{ \"questions\": [\"Open?\"], \"answer\": \"Yes.\" }], \"files\": [{ \"fileName\": \"m.pdf\", \"fileUri\": \"m.pdf\" }] }",
    ),
    refused("A pair has an answer and questions.", "{ \"qnaList\": [{ \"questions\": [\"Open?\"] }] }"),
];

const TSV: &[Row] = &[
    fine(
        "Knowledge base, question, metadata, how many answers are asked for, the id that is expected; tabs between them. The last three may be left out.",
        "kb1\tWhen do you open?\tcity:Rome|kind:shop\t3\t17\n",
    ),
    refused("A line has a question, and numbers are numbers.", "kb1\nkb1\tWhen?\t\tthree\n"),
];
