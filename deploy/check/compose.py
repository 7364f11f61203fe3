"""Starts the services of compose.yaml as processes: the same commands, variables, mounts and names, in containers without an engine.

    compose.py BINARY PLACE    inside a network of its own: `unshare --net`, or `unshare --map-root-user --net`

gabfest's services run from the image's files. PostgreSQL, Prometheus and Alertmanager are those of this machine with the same
configuration, Rotel replaces the collector; Jaeger and Grafana, which no package carries, are left out. One thing is changed: all
containers share a network, so each has an address of its own, and 0.0.0.0 becomes that address. While the run goes on, a
coordinator is stopped and started again, and a worker is drained.
"""

import json
import pathlib
import re
import shutil
import sys
import urllib.parse
import urllib.request

import yaml

import collector
import database
import names
import webhook
import stage
from container import Container, of_image, of_machine, own
from stage import DEPLOY, until

# A planted key: it must appear only in the worker's environment.
CANARY = "sk-canary-5f2d8c61b7a94e03"
PROMETHEUS_PORT = 9090


class Topology:
    def __init__(self, binary: pathlib.Path, place: pathlib.Path):
        self.place = place
        text = (DEPLOY / "compose.yaml").read_text()
        self.services = yaml.safe_load(interpolate(text, {"MODEL_KEY": CANARY}))["services"]
        image, etc = stage.image(binary, place), stage.etc(place)
        self.image, self.machine, self.entrypoint = of_image(image, etc), of_machine(etc), image.entrypoint
        self.machine_etc = etc
        self.volumes: dict[str, pathlib.Path] = {}
        self.table: dict[str, list[str]] = {}
        self.containers: dict[str, list[Container]] = {}
        self.next_address = 1

    def container(self, service: str, program: list[str]) -> Container:
        """Adds a replica of a service without starting it."""
        said = self.services[service]
        number = len(self.containers.setdefault(service, []))
        address = f"127.77.0.{self.next_address}"
        self.next_address += 1
        here = lambda value: str(value).replace("0.0.0.0", address)
        container = Container(
            name=f"{service}-{number + 1}",
            address=address,
            command=[*program, *map(here, self.words(said))],
            environment={name: here(value) for name, value in said.get("environment", {}).items()},
            mounts=[self.mount(volume) for volume in said.get("volumes", [])],
            tmpfs=[mount.split(":")[0] for mount in said.get("tmpfs", [])],
            log=self.place / f"{service}-{number + 1}.log",
        )
        if not said["read_only"]:
            raise SystemExit(f"{service} may write to its image")
        self.containers[service].append(container)
        networks = said.get("networks", {})
        aliases = networks["default"]["aliases"] if "default" in networks else []
        for name in [service, *aliases]:
            self.table.setdefault(name, []).append(address)
        return container

    def words(self, said: dict) -> list[str]:
        return said.get("command", [])

    def mount(self, volume: str) -> tuple[pathlib.Path, str, bool]:
        source, target, *mode = volume.split(":")
        if not source.startswith("."):
            folder = self.volumes.setdefault(source, self.place / "volumes" / source)
            return (folder if folder.exists() else own(folder), target, True)
        copy = self.place / "mounts" / source.replace("..", "up").replace("/", "_")
        if not copy.exists():
            # The image's user may have no access to the sources in their original place.
            copy.parent.mkdir(exist_ok=True)
            original = DEPLOY / source
            shutil.copytree(original, copy) if original.is_dir() else shutil.copy(original, copy)
        return (copy, target, mode != ["ro"])

    def gabfest(self, service: str) -> list[Container]:
        """Starts all replicas of a service that runs the image."""
        count = self.services[service].get("deploy", {}).get("replicas", 1)
        started = [self.container(service, self.entrypoint) for _ in range(count)]
        for container in started:
            container.start(self.image)
        self.await_health(service)
        return started

    def await_health(self, service: str) -> None:
        test = self.services[service].get("healthcheck", {}).get("test")
        for container in self.containers[service] if test else []:
            until(f"{container.name} is healthy", 120, lambda: container.run(self.image, test[1:], 10).returncode == 0)

    def once(self, service: str) -> None:
        """Runs a service that ends."""
        container = self.container(service, self.entrypoint)
        container.start(self.image)
        if (code := container.process.wait(60)) != 0:
            raise SystemExit(f"{service} ended with {code}")

    def certificates(self) -> None:
        """`run --rm certificates`, with what it depends on."""
        chain, service = [], "certificates"
        while service:
            chain.insert(0, service)
            service = next(iter(self.services[service].get("depends_on", {})), None)
        for service in chain:
            self.once(service)

    def database(self) -> Container:
        place = self.container("database", [])
        return self.replace("database", database.start("database", place.address, place.environment, self.place, self.machine_etc))

    def coordinators(self) -> list[Container]:
        """Starts both."""
        services = ["coordinator-1", "coordinator-2"]
        started = [self.container(service, self.entrypoint) for service in services]
        for container in started:
            container.start(self.image)
        [self.await_health(service) for service in services]
        return started

    def alertmanager(self, slack: str) -> Container:
        """With the address of a webhook in the file that holds it."""
        for volume in self.services["alertmanager"]["volumes"]:
            source, target, _ = self.mount(volume)
            if target.endswith("slack-url"):
                source.write_text(slack)
        container = self.container("alertmanager", ["/usr/bin/prometheus-alertmanager"])
        container.start(self.machine)
        return container

    def replace(self, service: str, container: Container) -> Container:
        self.containers[service] = [container]
        return container

    def prometheus(self) -> Container:
        container = self.container("prometheus", ["/usr/bin/prometheus"])
        container.start(self.machine)
        return container

    def collector(self) -> Container:
        """Starts Rotel with the addresses of the collector's configuration."""
        ((configuration, _, _),) = [self.mount(volume) for volume in self.services["collector"]["volumes"]]
        receiver = yaml.safe_load(configuration.read_text())["receivers"]["otlp"]["protocols"]
        container = self.container("collector", [])
        endpoint = lambda way: receiver[way]["endpoint"].replace("0.0.0.0", container.address)
        container.command = ["/agent", *collector.arguments(endpoint("grpc"), endpoint("http"))]
        copy = self.place / "rotel-agent"
        shutil.copy(collector.PROGRAM, copy)
        copy.chmod(0o755)
        container.mounts, container.tmpfs = [(copy, "/agent", False)], ["/tmp"]
        container.start(self.machine)
        return container

    def stop_all(self) -> None:
        for container in [container for replicas in self.containers.values() for container in replicas]:
            container.kill()

    def order(self) -> list[str]:
        """The gabfest services that `up` starts besides the coordinators, dependencies first."""
        is_ours = lambda name, said: "build" in said and "profiles" not in said and not name.startswith("coordinator-")
        ours = [name for name, said in self.services.items() if is_ours(name, said)]
        ordered: list[str] = []
        while rest := [name for name in ours if name not in ordered]:
            ready = [name for name in rest if not set(self.services[name].get("depends_on", {})) & set(rest)]
            ordered += ready or sys.exit(f"the services {rest} wait for each other")
        return ordered


def main(binary: pathlib.Path, place: pathlib.Path) -> None:
    topology = Topology(binary, place)
    names.serve(topology.table)
    try:
        play(topology)
    finally:
        topology.stop_all()


def play(topology: Topology) -> None:
    rotel = topology.collector()
    slack = webhook.Webhook("127.77.0.250")
    alertmanager, prometheus = topology.alertmanager(slack.url), topology.prometheus()
    topology.certificates()
    topology.database()
    coordinators = topology.coordinators()
    for service in topology.order():
        topology.gabfest(service)
    workers = topology.containers["worker"]
    submit = topology.container("submit", topology.entrypoint)
    submit.start(topology.image)

    gabfest = topology.entrypoint[0]
    listed = lambda: submit.run(topology.image, [gabfest, "runs"], 20).stdout
    progress = lambda: re.search(r"\s(running|finished)\s+([0-9]+)/", listed())
    done = lambda: int(found[2]) if (found := progress()) else 0
    until("the first conversations are done", 120, lambda: done() >= 20)
    stopped = stage.in_charge(coordinators)
    if (code := stopped.stop(seconds_of(topology.services["coordinator-1"]["stop_grace_period"]))) != 0:
        raise SystemExit(f"a coordinator ended with {code} after SIGTERM")
    state, between = until("the other coordinator answers", 60, progress).groups()
    if state != "running":
        raise SystemExit("the run was over before a coordinator was stopped: nothing was shown")
    until("the run goes on with the other coordinator", 120, lambda: done() > int(between))
    stopped.start(topology.image)
    if (code := workers[0].stop(seconds_of(topology.services["worker"]["stop_grace_period"]))) != 0:
        raise SystemExit(f"a worker ended with {code} after SIGTERM")
    workers[0].start(topology.image)
    code = submit.process.wait(300)
    if code != 0:
        raise SystemExit(f"submit ended with {code}")

    (report,) = topology.volumes["reports"].glob("gabfest-runs/*/report.json")
    report = json.loads(report.read_text())
    trials = report["summary"]["trials"]
    print(f"run: {trials['planned']} trials, {trials['pass']} passed; a coordinator stopped after {between}, one worker drained")
    if report["run"]["state"] != "finished" or trials["not_started"] != 0:
        raise SystemExit(f"the run is not complete: {report['run']['state']}, {trials}")
    if report["summary"]["attempts"]["lost"] != 0:
        raise SystemExit("a drain and a restart must lose no attempt")
    for service in topology.order():
        for container in topology.containers[service]:
            if not container.running():
                raise SystemExit(f"{container.name} is not running any more")

    scraped(prometheus, len(workers), len(coordinators), trials["planned"])
    alerted(prometheus, alertmanager, slack)
    traced(rotel)
    for container in [*workers, *coordinators]:
        with urllib.request.urlopen(f"http://{container.address}:9464/metrics", timeout=5) as page:
            (topology.place / f"{container.name}.metrics").write_bytes(page.read())
    for container in [*workers, *coordinators, *topology.containers["mock"]]:
        if (code := container.stop(30)) != 0:
            raise SystemExit(f"{container.name} ended with {code} after SIGTERM")
    hidden(topology)


def alerted(prometheus: Container, alertmanager: Container, slack: webhook.Webhook) -> None:
    """Prometheus knows Alertmanager, and an alert arrives at the webhook."""
    active = f"http://{prometheus.address}:{PROMETHEUS_PORT}/api/v1/alertmanagers"
    with urllib.request.urlopen(active, timeout=5) as reply:
        urls = [one["url"] for one in json.load(reply)["data"]["activeAlertmanagers"]]
    if urls != ["http://alertmanager:9093/api/v2/alerts"]:
        raise SystemExit(f"Prometheus sends alerts to {urls}")
    annotations = {"summary": "Trials wait", "description": "No worker.", "runbook": "docs/operations.md#gabfestnoworkers"}
    alert = [{"labels": {"alertname": "GabfestNoWorkers", "severity": "critical"}, "annotations": annotations}]
    head = {"content-type": "application/json"}
    request = urllib.request.Request(f"http://{alertmanager.address}:9093/api/v2/alerts", json.dumps(alert).encode(), head)
    urllib.request.urlopen(request, timeout=5).close()
    until("an alert arrives at the webhook", 30, lambda: "docs/operations.md#gabfestnoworkers" in slack.text())
    print("alerts: from Prometheus by Alertmanager to the webhook")


def scraped(prometheus: Container, workers: int, coordinators: int, planned: int) -> None:
    def value(expression: str) -> float:
        query = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"http://{prometheus.address}:{PROMETHEUS_PORT}/api/v1/query?{query}", timeout=5) as reply:
            result = json.load(reply)["data"]["result"]
        return float(result[0]["value"][1]) if result else 0.0

    until("Prometheus reads every worker", 120, lambda: value('sum(up{job="gabfest-worker"})') == workers)
    until("Prometheus reads the coordinators", 120, lambda: value('sum(up{job="gabfest-coordinator"})') == coordinators)
    until("the verdicts are counted", 120, lambda: value("max(gabfest_trials_done)") == planned)
    series = value('count({__name__=~"gabfest_.+"})')
    print(f"metrics: {series:.0f} series of {workers} workers and {coordinators} coordinators")


def traced(rotel: Container) -> None:
    printed = collector.Printed(rotel.log)
    until("spans arrive at the collector", 60, printed.spans)
    print(f"traces: {printed.spans()} spans at the collector")


def hidden(topology: Topology) -> None:
    """Asserts that no file of a service contains the planted key."""
    files = [path for path in topology.place.rglob("*") if path.is_file() and topology.place / "tree" not in path.parents]
    found = [path for path in files if CANARY.encode() in path.read_bytes()]
    if found:
        raise SystemExit(f"the planted key is in {', '.join(map(str, found))}")
    print(f"secrets: the planted key is in none of {len(files)} files (logs, stores, reports, metrics, spans)")


def interpolate(text: str, environment: dict[str, str]) -> str:
    """${NAME:-default}, as compose has it."""
    return re.sub(r"\$\{([A-Z_]+):-([^}]*)\}", lambda found: environment.get(found[1], found[2]), text)


def seconds_of(text: str) -> float:
    return float(text.removesuffix("s"))


if __name__ == "__main__":
    stage.begin(main)
