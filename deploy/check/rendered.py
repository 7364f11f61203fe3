"""The objects that an overlay of kubernetes/ makes, and the pods among them."""

import dataclasses
import pathlib
import subprocess

import yaml


@dataclasses.dataclass
class Pod:
    """What a Deployment, a StatefulSet or a CronJob starts."""

    name: str
    kind: str
    labels: dict[str, str]
    spec: dict
    # Volumes that a StatefulSet makes for each pod.
    claimed: list[str]

    @property
    def component(self) -> str:
        return self.labels["app.kubernetes.io/component"]

    def containers(self) -> list[dict]:
        return [*self.spec.get("initContainers", []), *self.spec["containers"]]

    def ports(self) -> dict[str, int]:
        return {port["name"]: port["containerPort"] for container in self.containers() for port in container.get("ports", [])}


class Rendered:
    def __init__(self, overlay: pathlib.Path):
        self.name = overlay.name
        made = subprocess.run(["kubectl", "kustomize", overlay], capture_output=True, text=True)
        if made.returncode != 0:
            raise SystemExit(f"{overlay}: {made.stderr}")
        self.all: list[dict] = list(yaml.safe_load_all(made.stdout))
        self.objects = {(found["kind"], found["metadata"]["name"]): found for found in self.all}
        self.pods = [pod for found in self.all for pod in started(found)]

    def of(self, kind: str) -> list[dict]:
        return [found for found in self.all if found["kind"] == kind]

    def selected(self, selector: dict) -> list[Pod]:
        """An empty selector selects every pod, as in Kubernetes."""
        return [pod for pod in self.pods if matches(selector, pod.labels)]


def started(found: dict) -> list[Pod]:
    spec = found.get("spec", {})
    spec = spec["jobTemplate"]["spec"] if found["kind"] == "CronJob" else spec
    if "template" not in spec:
        return []
    template = spec["template"]
    claimed = [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])]
    return [Pod(found["metadata"]["name"], found["kind"], template["metadata"]["labels"], template["spec"], claimed)]


def matches(selector: dict, labels: dict[str, str]) -> bool:
    for rule in selector.get("matchExpressions", []):
        if rule["operator"] != "In":
            raise SystemExit(f"the check does not know the operator {rule['operator']}")
        if labels.get(rule["key"]) not in rule["values"]:
            return False
    return selector.get("matchLabels", {}).items() <= labels.items()
