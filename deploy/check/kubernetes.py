"""Plays the commands of docs/operations.md, *On Kubernetes*, word for word: certificates and secrets are made, an overlay's pods start
as processes, all at once, as a cluster does, probes are asked, and the nightly job runs.

    kubernetes.py BINARY PLACE    inside a network of its own, with `kubectl` in the path

Only KEDA and the network policies have no part in it: there are as many workers as KEDA's fallback says.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import names
import shown
import stage
from cluster import Cluster, Started
from rendered import Rendered
from stage import DEPLOY, until

SECTION = shown.section("On Kubernetes")
# In the order of the page.
TRY, FLEET, DATABASE, JOIN = (shown.commands(block) for block in shown.blocks(SECTION, "sh")[:4])
# What a reader puts in.
PASSWORD = "canary-4c1f7a90"
READER = {"PASSWORD": PASSWORD, "HOST": "gabfest-database", "?sslmode=verify-full": "", "overlays/fleet": "overlays/fleet-with-database"}


class Play:
    """Commands of the page, on a cluster."""

    def __init__(self, binary: pathlib.Path, place: pathlib.Path, network: int):
        place.mkdir()
        self.binary, self.place = binary, place
        self.cluster = Cluster(binary, place, network)
        self.pods: dict[str, list[Started]] = {}
        self.jobs: dict[str, int] = {}

    def all(self, commands: list[list[str]], reader: dict[str, str]) -> None:
        for words in commands:
            words = [replaced(word, reader) for word in words]
            if words[0] == "gabfest":
                done = subprocess.run([self.binary, *words[1:]], cwd=self.place, capture_output=True, text=True)
                if done.returncode != 0:
                    sys.exit(f"{' '.join(words)} ended with {done.returncode}\n{done.stderr}")
            else:
                self.kubectl(words[1:])

    def kubectl(self, words: list[str]) -> None:
        options = dict(zip(words, words[1:]))
        match words:
            case ["kustomize", *_] | ["create", "namespace", *_] | ["apply", "--filename", *_] | ["logs" | "get" | "rollout" | "delete", *_]:
                pass
            case ["create", "secret", "generic", name, *rest]:
                self.cluster.secrets[name] = dict(map(self.key, (word for word in rest if word.startswith("--from-"))))
            case ["apply", "--kustomize", *_]:
                self.apply(DEPLOY.parent / options["--kustomize"])
            case ["create", "job", *rest]:
                name = rest[-1]
                self.jobs[name] = self.cluster.job(name).process.wait(300)
            case _:
                sys.exit(f"the check does not know `kubectl {' '.join(words)}`")

    def key(self, word: str) -> tuple[str, bytes]:
        option, value = word.split("=", 1)
        if option == "--from-literal":
            name, text = value.split("=", 1)
            return name, text.encode()
        return pathlib.Path(value).name, (self.place / value).read_bytes()

    def apply(self, overlay: pathlib.Path) -> None:
        self.cluster.rendered = Rendered(overlay)
        fallback = [scaled["spec"]["fallback"]["replicas"] for scaled in self.cluster.rendered.of("ScaledObject")]
        # The database first: it takes the longest to be made here. The others start together.
        pods = sorted((pod for pod in self.cluster.rendered.pods if pod.kind != "CronJob"), key=lambda pod: pod.component != "database")
        for pod in pods:
            said = self.cluster.rendered.objects[pod.kind, pod.name]["spec"]
            self.pods[pod.component] = self.cluster.start(pod, said.get("replicas", fallback[0] if fallback else 1))
        for component in ("coordinator", "worker"):
            [one.answers() for one in self.pods[component]]

    def gabfest(self, identity: str, *words: str) -> str:
        """What an administrator asks, who reaches the coordinator by `kubectl port-forward`."""
        container = self.pods["worker"][0].container
        mounts, variables = container.mounts, container.environment
        if identity:
            container.mounts = [*mounts, (self.cluster.files("administrator", folder(self.place / identity)), "/administrator", False)]
            container.environment = {**variables, "GABFEST_IDENTITY": "/administrator"}
        done = container.run(self.cluster.sandbox, [*self.cluster.image.entrypoint, *words], 30)
        container.mounts, container.environment = mounts, variables
        return done.stdout if done.returncode == 0 else sys.exit(f"gabfest {' '.join(words)}: {done.stderr}")

    def reported(self, job: str) -> None:
        """The job has passed, its run was made once, and its report is in the volume."""
        if self.jobs[job] != 0:
            sys.exit(f"the job {job} ended with {self.jobs[job]}")
        report = self.cluster.folder("gabfest-reports") / "gabfest-runs" / job / "report.json"
        trials = json.loads(report.read_text())["summary"]["trials"]
        if not trials["planned"] or trials["not_started"]:
            sys.exit(f"the run of the job is not complete: {trials}")
        print(f"{job}: {trials['pass']} of {trials['planned']} trials passed, and the volume has the report")

    def drained(self, *components: str) -> None:
        for started in [one for component in components for one in self.pods[component]]:
            started.stop()


def replaced(text: str, reader: dict[str, str]) -> str:
    for old, new in reader.items():
        text = text.replace(old, new)
    return text


def folder(path: pathlib.Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def main(binary: pathlib.Path, place: pathlib.Path) -> None:
    tables: dict[str, list[str]] = {}
    names.serve(tables)
    for number, play in enumerate((one, fleet), 1):
        cluster_play = Play(binary, place / play.__name__, number)
        cluster_play.cluster.addresses = tables
        tables.clear()
        try:
            with stage.logs_told(cluster_play.place):
                play(cluster_play)
        finally:
            cluster_play.cluster.kill_all()
        shutil.rmtree(cluster_play.place / "tree")


def one(play: Play) -> None:
    """Without certificates: the first commands of the page."""
    play.all(TRY, {})
    play.reported("first-night")
    # Its pod was lost and another takes its place: the same run, and the same end.
    again = play.cluster.job("first-night")
    code = again.process.wait(120)
    runs = again.run(play.cluster.sandbox, [*play.cluster.image.entrypoint, "runs"], 20).stdout
    if code != 0 or runs.count("\n") != 2 or "first-night" not in runs:
        sys.exit(f"a job that is started again must go on with its run, and ended with {code}\n{runs}")
    play.drained("worker", "coordinator")
    print("drained: workers and coordinator ended with 0")


def fleet(play: Play) -> None:
    """With certificates, PostgreSQL and two coordinators, of which one is killed during a night."""
    play.all(DATABASE, READER)
    play.all(FLEET, READER)
    play.reported("first-night")
    killed_at_night(play)
    joined(play)
    play.drained("worker")
    play.drained("coordinator")
    hidden(play)


def killed_at_night(play: Play) -> None:
    """A coordinator is killed while a pod of the job watches, and so is that pod; others take their places."""
    first = play.cluster.job("second-night", longer)
    until("the second night has begun", 60, lambda: "second-night" in play.gabfest("submit", "runs"))
    killed = stage.in_charge([one.container for one in play.pods["coordinator"]])
    killed.kill()
    if (code := first.stop(30)) != 130:
        sys.exit(f"a pod of the job that is taken away must end with 130, and ended with {code}")
    killed.start(play.cluster.sandbox)
    play.jobs["second-night"] = play.cluster.job("second-night", longer).process.wait(300)
    play.reported("second-night")


def longer(words: list[str]) -> list[str]:
    """More repeats, so that there is time to kill something."""
    at = words.index("--repeats")
    return [*words[: at + 1], "1500", *words[at + 2 :]]


def joined(play: Play) -> None:
    """A worker joins with a token, although the secrets of the coordinator and its own can only be read."""
    reader = {"localhost": "gabfest-coordinator", "pki/admin": "/administrator"}
    asked = [replaced(word, reader) for word in JOIN[0][1:]]
    token = play.gabfest("pki/admin", *asked).strip()
    play.cluster.secrets["gabfest-join-token"] = {"token": token.encode()}
    overlay = play.place / "join"
    overlay.mkdir()
    (text,) = [block for block in shown.blocks(SECTION, "yaml") if "/join" in block]
    (play.place / "gabfest").symlink_to(DEPLOY.parent)
    (overlay / "kustomization.yaml").write_text(text)
    play.cluster.rendered = Rendered(overlay)
    (pod,) = [pod for pod in play.cluster.rendered.pods if pod.component == "worker"]
    worker = play.cluster.start_one(pod, "joined-worker")
    worker.answers()
    play.cluster.secrets["gabfest-join-token"] = {}
    worker.stop()
    worker.container.environment.pop("GABFEST_JOIN_TOKEN")
    # Its identity is in the volume, so it needs the token no more.
    worker.container.start(play.cluster.sandbox)
    worker.answers()
    if "joined-worker" not in play.gabfest("submit", "workers"):
        sys.exit("the coordinator does not list the worker that joined")
    worker.stop()
    print("join: a worker with a token has joined, and started again without it")


def hidden(play: Play) -> None:
    for path in play.place.rglob("*.log"):
        if PASSWORD.encode() in path.read_bytes():
            sys.exit(f"the password of the database is in {path.name}")


if __name__ == "__main__":
    stage.begin(main)
