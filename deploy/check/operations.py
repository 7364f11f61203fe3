"""Plays docs/operations.md, *From an empty database to a nightly report*, word for word, and compares what its commands print.

    operations.py BINARY PLACE    inside a network of its own

All machines of the page are this one, with an address for each. The conventions are those of docs/tutorial.md: a block whose info
string names a file is that file; in a `console` block, lines after `$ ` are commands, and a line `…` matches any number of lines.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import database
import shown
import stage

SECTION = shown.section("From an empty database to a nightly report")
MACHINES = {"db.example": ["10.0.0.10"], "one.example": ["10.0.0.11"], "two.example": ["10.0.0.12"], "fleet.example": ["10.0.0.11", "10.0.0.12"]}
# Of the administrator of the database, who is asked for it.
PASSWORD = "canary-administrator-7d0a"
MARK = "@@ command"
# A reader's typing takes time, in which a coordinator starts, or another one takes over.
WAIT = "for i in $(seq 200); do {probe} >/dev/null 2>&1 && break; sleep 0.1; done"


def main(binary: pathlib.Path, place: pathlib.Path) -> None:
    etc = place / "etc"
    etc.mkdir()
    (etc / "hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{one} {name}\n" for name, all in MACHINES.items() for one in all))
    (etc / "resolv.conf").write_text("")
    for number, address in enumerate(sorted({one for all in MACHINES.values() for one in all})):
        stage.own_address(number, address)
    administrator = {"POSTGRES_USER": "postgres", "POSTGRES_PASSWORD": PASSWORD}
    server = database.start("database", MACHINES["db.example"][0], administrator, place, etc)
    try:
        play(binary, place, etc)
    finally:
        server.kill()


def play(binary: pathlib.Path, place: pathlib.Path, etc: pathlib.Path) -> None:
    folder, programs = place / "reader", place / "bin"
    folder.mkdir()
    programs.mkdir()
    (programs / "gabfest").symlink_to(binary)
    commands, text = script()
    (place / "script.bash").write_text(text)
    # The reader types the administrator's password; libpq reads it from here.
    (place / "pgpass").write_text(f"*:*:*:postgres:{PASSWORD}\n")
    (place / "pgpass").chmod(0o600)
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder), "PGPASSFILE": str(place / "pgpass")}
    done = subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", "--bind", str(etc / "hosts"), "/etc/hosts", "--die-with-parent", "bash", str(place / "script.bash")],
        cwd=folder, env=variables, capture_output=True, text=True, timeout=200,
    )
    printed = done.stdout.split(f"{MARK}\n")[1:]
    logs = "".join(f"--- {log.name}\n{log.read_text()[-1000:]}\n" for log in folder.glob("*.log"))
    if len(printed) != len(commands):
        sys.exit(f"{len(printed)} of {len(commands)} commands were played\n{done.stdout}\n{done.stderr}\n{logs}")
    for (command, expected), output in zip(commands, printed):
        if not matches(expected, [" ".join(line.split()) for line in output.splitlines()]):
            sys.exit(f"`{command}` should print\n{chr(10).join(expected)}\nand printed\n{output}\n{logs}")
    reports = list(folder.glob("reports/*/report.json"))
    for report in reports:
        read = json.loads(report.read_text())
        if read["run"]["state"] != "finished" or read["summary"]["trials"]["not_started"]:
            sys.exit(f"{report} is not of a complete run")
    if len(reports) < 2:
        sys.exit(f"the page leaves {len(reports)} reports")
    print(f"the page: {len(commands)} commands, {len(reports)} nights with reports")


def script() -> tuple[list[tuple[str, list[str]]], str]:
    """The commands with what they should print, and one script for all, so that `export` and `$!` work as for a reader."""
    commands: list[tuple[str, list[str]]] = []
    text = "exec 2>&1\ntrap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null' EXIT\n"
    for info, block in re.findall(r"^```(\S[^\n]*)\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE):
        language, _, file = info.partition(" ")
        if file:
            text += f"mkdir -p \"$(dirname {file})\"\ncat > {file} <<'END OF FILE'\n{block}END OF FILE\n"
        for line in block.splitlines() if language == "console" else []:
            if line.startswith("$ "):
                commands.append((line[2:], []))
                text += f"echo '{MARK}'\n{typed(line[2:])}\n"
            else:
                commands[-1][1].append(" ".join(line.split()))
    return commands, text


def typed(command: str) -> str:
    if listening := re.search(r"--listen (\S+):(\d+) .*&$", command):
        return f"{command}\n{WAIT.format(probe=f'(: < /dev/tcp/{listening[1]}/{listening[2]})')}"
    if command.startswith("kill "):
        return f"{command}\nwait {command.split()[1]} 2>/dev/null\n{WAIT.format(probe='gabfest workers --identity pki/admin')}"
    return command


def matches(expected: list[str], printed: list[str]) -> bool:
    if not expected:
        return not printed
    first, *rest = expected
    if first == "…":
        return any(matches(rest, printed[at:]) for at in range(len(printed) + 1))
    return bool(printed) and printed[0] == first and matches(rest, printed[1:])


if __name__ == "__main__":
    stage.begin(main)
