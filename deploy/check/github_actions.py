"""Follows the GitHub workflow's own commands in a small project, as a runner does: one whose gates hold, one whose agent fails, and
one that is stopped while it plays.

    github_actions.py BINARY PLACE
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

WORKFLOW = pathlib.Path(__file__).parent.parent / "github-actions.yml"
FAILING = "endpoints: { mock: { kind: mock, mock: { pass: [{ probability: 0.0 }] } } }\n"


def main(binary: pathlib.Path, place: pathlib.Path) -> None:
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    (place / "bin").mkdir()
    shutil.copy(binary, place / "bin/gabfest")
    for name, settings, expected, said in [("good", None, 0, "every gate held"), ("bad", FAILING, 1, "::error::a gate failed")]:
        project = place / name
        subprocess.run([place / "bin/gabfest", "init", project], check=True, capture_output=True)
        if settings:
            (project / "gabfest.yaml").write_text(settings)
        code, output, page = follow(job, project, place / "bin")
        if code != expected or said not in output or "pass" not in page.lower() or not (project / "report/junit.xml").exists():
            sys.exit(f"{name}: ended with {code}\n{output}\n{page}")
    code, output, _ = follow(job, project, place / "bin", stopped=True)
    if code != 1 or "::error::the run was stopped" not in output:
        sys.exit(f"stopped: ended with {code}\n{output}")
    print("the workflow's commands: 0 and a summary with a good agent, 1 and a summary with a bad one, 1 where it was stopped")


def follow(job: dict, project: pathlib.Path, programs: pathlib.Path, stopped: bool = False) -> tuple[int, str, str]:
    """Runs every command except the build of gabfest, and except playing if it is `stopped`. Returns the last exit code, the output, and the run's page."""
    files = {"GITHUB_OUTPUT": project / "output", "GITHUB_STEP_SUMMARY": project / "summary"}
    [file.write_text("") for file in files.values()]
    printed, code = "", 0
    for step in job["steps"]:
        if "run" not in step or "cargo install" in step["run"] or (stopped and step.get("id") == "play"):
            continue
        outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        variables = {"REPEATS": "2", "PATH": f"{programs}:{os.environ['PATH']}", **{name: str(file) for name, file in files.items()}}
        for name, value in step.get("env", {}).items():
            variables[name] = re.sub(r"\$\{\{ *steps\.play\.outputs\.(\w+) *\}\}", lambda found: outputs.get(found[1], ""), value)
        # Runners start bash with these options.
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=project, env=variables, capture_output=True, text=True, timeout=120,
        )
        printed, code = printed + done.stdout + done.stderr, done.returncode
    return code, printed, files["GITHUB_STEP_SUMMARY"].read_text()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
