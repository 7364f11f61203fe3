"""The commands that docs/operations.md shows, so that checks play them word for word."""

import re
import shlex

from stage import DEPLOY

PAGE = DEPLOY.parent / "docs/operations.md"


def section(title: str) -> str:
    """A section of the second level, without its title."""
    (found,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return found


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def commands(block: str) -> list[list[str]]:
    """The words of each line, without comments."""
    lines = [shlex.split(line, comments=True) for line in block.replace("\\\n", " ").splitlines()]
    return [words for words in lines if words]
