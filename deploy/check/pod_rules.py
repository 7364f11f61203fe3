"""What every pod of kubernetes/ must have: few rights, bounds, probes of its own ports, and flags that exist."""

import functools
import re
import subprocess
import sys

from rendered import Pod, Rendered

# Beyond `--help`: variables for which a manifest has no flag.
VARIABLES = {"GABFEST_JOIN_TOKEN"}


def check(rendered: Rendered, gabfest: str) -> None:
    for pod in rendered.pods:
        wrong = lambda reason: sys.exit(f"{rendered.name}: {pod.name} {reason}")
        rights(pod, wrong)
        for container in pod.containers():
            bounds(pod, container, wrong)
            probes(pod, container, wrong)
            if "gabfest" in container["image"]:
                flags(container, gabfest, wrong)
        drains(pod, wrong)


def rights(pod: Pod, wrong) -> None:
    said = pod.spec["securityContext"]
    if not said["runAsNonRoot"] or said["runAsUser"] == 0 or said["seccompProfile"]["type"] != "RuntimeDefault":
        wrong("may be root, or has no seccomp profile")
    if pod.spec["automountServiceAccountToken"]:
        wrong("has a token of the cluster")
    for container in pod.containers():
        context = container["securityContext"]
        if context["allowPrivilegeEscalation"] or context["capabilities"] != {"drop": ["ALL"]} or not context["readOnlyRootFilesystem"]:
            wrong("may gain rights, or write to its image")


def bounds(pod: Pod, container: dict, wrong) -> None:
    resources = container["resources"]
    if not {"cpu", "memory"} <= resources["requests"].keys() or "memory" not in resources["limits"]:
        wrong("has no requests of cpu and memory, or no limit of memory")
    volumes = {volume["name"] for volume in pod.spec.get("volumes", [])} | set(pod.claimed)
    for mount in container.get("volumeMounts", []):
        if mount["name"] not in volumes:
            wrong(f"mounts {mount['name']}, which is no volume")


def probes(pod: Pod, container: dict, wrong) -> None:
    if pod.kind != "CronJob" and not {"startupProbe", "readinessProbe"} <= container.keys():
        wrong("has no probes")
    for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
        request = container.get(kind, {}).get("httpGet")
        if request and request["port"] not in pod.ports():
            wrong(f"has a {kind} at the port {request['port']}, which it does not open")


def flags(container: dict, gabfest: str, wrong) -> None:
    command = container["args"][0]
    known = help_of(gabfest, command)
    for word in container["args"]:
        if word.startswith("--") and not re.search(rf"(?m)(^|\s){re.escape(word)}\b", known):
            wrong(f"uses {word}, which `gabfest {command}` does not have")
    for variable in container.get("env", []):
        name = variable["name"]
        if name.startswith("GABFEST_") and name not in VARIABLES and f"[env: {name}" not in " ".join(known.split()):
            wrong(f"sets {name}, which `gabfest {command}` does not read")


def drains(pod: Pod, wrong) -> None:
    for container in pod.containers():
        words = container.get("args", [])
        if "--grace" in words and int(words[words.index("--grace") + 1]) >= pod.spec["terminationGracePeriodSeconds"]:
            wrong("is killed before its --grace ends")


@functools.cache
def help_of(gabfest: str, command: str) -> str:
    return subprocess.run([gabfest, command, "--help"], capture_output=True, text=True, check=True).stdout

