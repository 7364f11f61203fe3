"""Plays the commands of docs/operations.md, *With systemd*, and starts the units as processes: their commands, variables and credentials.

    units.py BINARY PLACE    inside a network of its own

What systemd itself does with a process, its user and its rights, is not played; `systemd-analyze security` judges it.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import shown
import stage
from stage import DEPLOY, until

COORDINATOR, JOIN, WORKER = (shown.commands(block) for block in shown.blocks(shown.section("With systemd"), "sh")[:3])


class Unit:
    """A service of systemd, below `place` instead of the root."""

    def __init__(self, name: str, binary: pathlib.Path, place: pathlib.Path):
        self.name, self.binary, self.place = name, binary, place
        text = (DEPLOY / f"{name}.service").read_text().split("[Service]")[1]
        self.said = re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)
        self.process: subprocess.Popen | None = None

    def values(self, key: str) -> list[str]:
        return [value for one, value in self.said if one == key]

    def below(self, path: str) -> str:
        return re.sub(r"(?<![\w/])/(etc|var)/", rf"{self.place}/\1/", path)

    def expanded(self, text: str) -> str:
        return self.below(text.replace("%d", f"{self.place}/run/{self.name}").replace("%S", "/var/lib"))

    def credentials(self) -> None:
        """Copies files that only their reader can read; the unit's own text is for files that are missing."""
        folder = self.place / "run" / self.name
        folder.mkdir(parents=True, exist_ok=True)
        usual = {name: text for name, text in (value.split(":", 1) for value in self.values("SetCredential"))}
        for name, path in (value.split(":", 1) for value in self.values("LoadCredential")):
            source, target = pathlib.Path(self.below(path)), folder / name
            target.unlink(missing_ok=True)
            if not source.exists() and name not in usual:
                sys.exit(f"{self.name} does not start without {path}")
            target.write_bytes(source.read_bytes() if source.exists() else usual[name].encode().decode("unicode_escape").encode())
            target.chmod(0o400)

    def start(self) -> None:
        self.credentials()
        (self.place / "var/lib" / self.values("StateDirectory")[0]).mkdir(parents=True, exist_ok=True)
        variables = dict(self.expanded(value).split("=", 1) for value in self.values("Environment"))
        for value in self.values("EnvironmentFile"):
            file = pathlib.Path(self.below(value.lstrip("-")))
            if file.exists() or not value.startswith("-"):
                variables |= dict(line.split("=", 1) for line in file.read_text().splitlines())
        for command in self.values("ExecStartPre"):
            subprocess.run(shlex.split(self.expanded(command)), env=variables, check=True)
        (command,) = self.values("ExecStart")
        words = shlex.split(self.expanded(command))
        if words[0] != "/usr/local/bin/gabfest":
            sys.exit(f"{self.name} starts {words[0]}")
        with (self.place / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen([self.binary, *words[1:]], env=variables, stdout=log, stderr=log)

    def stop(self) -> None:
        self.process.terminate()
        if (code := self.process.wait(30)) != 0:
            sys.exit(f"{self.name} ended with {code} after SIGTERM")


def main(binary: pathlib.Path, place: pathlib.Path) -> None:
    units = {name: Unit(name, binary, place) for name in ("gabfest-coordinator", "gabfest-worker")}
    (place / "gabfest.yaml").write_text("slots: 4\n")
    (place / "bin").mkdir()
    (place / "bin/gabfest").symlink_to(binary)
    try:
        follow(COORDINATOR, units, place)
        until("the coordinator serves", 60, lambda: stage.listens("127.0.0.1:7400"))
        follow(JOIN, units, place)
        follow(WORKER, units, place)
        listed = lambda: ask(binary, place, "workers")
        until("the worker has joined", 60, lambda: listed().count("\n") == 2)
        # Its token was used, and its identity is kept.
        units["gabfest-worker"].stop()
        (place / "etc/gabfest/join-token").unlink()
        units["gabfest-worker"].start()
        until("the worker is back without its token", 60, lambda: listed().count("\n") == 2)
        [unit.stop() for unit in reversed(units.values())]
    finally:
        for unit in units.values():
            if unit.process and unit.process.poll() is None:
                unit.process.kill()
    print("units: a coordinator with credentials; a worker that joined with a token, and started again without it")


def follow(commands: list[list[str]], units: dict[str, Unit], place: pathlib.Path) -> None:
    """`sudo` and `systemctl` have no part in it; all other commands are played with /etc and /var below `place`."""
    for words in commands:
        words = [word for word in words if word != "sudo"]
        if words[0] == "systemctl":
            [units[word].start() for word in words if word in units]
        elif words[:2] == ["cp", "deploy/gabfest-coordinator.service"] or words[:2] == ["cp", "deploy/gabfest-worker.service"]:
            continue
        else:
            line = " ".join(word if re.fullmatch(r"[|>]", word) else shlex.quote(word) for word in words)
            line = next(iter(units.values())).below(line).replace("fleet.example:7400", "localhost:7400")
            path = {"PATH": f"{place}/bin:{os.environ['PATH']}"}
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], cwd=place, env=path, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{line} ended with {done.returncode}\n{done.stderr}")


def ask(binary: pathlib.Path, place: pathlib.Path, *words: str) -> str:
    identity = place / "etc/gabfest/pki/admin"
    words = [*words, "--coordinator", "https://localhost:7400", "--identity", identity]
    return subprocess.run([binary, *words], capture_output=True, text=True, timeout=30).stdout


if __name__ == "__main__":
    stage.begin(main)
