"""Starts what the Kubernetes base says as processes, all at once, as a cluster does.

    kubernetes.py BINARY PLACE    inside a network of its own, with `kubectl` in the path

The coordinator and the workers run from the image's files with the manifests' arguments, variables and mounts; configuration is
mounted by links, as the kubelet does it. Probes are asked, then the nightly job runs, and the workers are drained.
"""

import dataclasses
import pathlib
import re
import socket
import subprocess
import sys
import urllib.request

import yaml

import names
import stage
from container import Container, of_image, own
from stage import DEPLOY, until

JOB = "gabfest-nightly-29384610"


@dataclasses.dataclass
class Pod:
    """One container with its probes."""

    container: Container
    probes: dict[str, dict]
    grace_seconds: float


class Cluster:
    def __init__(self, binary: pathlib.Path, place: pathlib.Path):
        self.place = place
        rendered = subprocess.run(["kubectl", "kustomize", DEPLOY / "kubernetes"], capture_output=True, text=True, check=True)
        self.objects = {(found["kind"], found["metadata"]["name"]): found for found in yaml.safe_load_all(rendered.stdout)}
        self.image = stage.image(binary, place)
        self.sandbox = of_image(self.image, stage.etc(place))
        self.addresses: dict[str, list[str]] = {}
        self.pods: list[Pod] = []

    def pod(self, name: str, template: dict) -> Pod:
        said = template["spec"]
        (container,) = said["containers"]
        rights = said["securityContext"]
        if f"{rights['runAsUser']}:{rights['runAsGroup']}" != self.image.user:
            sys.exit(f"{name} runs as another user than the image says")
        if not container["securityContext"]["readOnlyRootFilesystem"]:
            sys.exit(f"{name} may write to its image")
        if not container["image"].startswith("gabfest:"):
            sys.exit(f"{name} runs another image")
        address = f"127.77.1.{len(self.pods) + 1}"
        labels = {**template["metadata"]["labels"], "batch.kubernetes.io/job-name": JOB}
        values = {}
        for variable in container.get("env", []):
            source = variable.get("valueFrom", {})
            if "fieldRef" in source:
                path = source["fieldRef"]["fieldPath"]
                label = re.fullmatch(r"metadata\.labels\['(.+)'\]", path)
                values[variable["name"]] = labels[label[1]] if label else {"metadata.name": name}[path]
            elif "secretKeyRef" in source:
                # The secret does not exist yet.
                source["secretKeyRef"]["optional"] or sys.exit(f"{name} needs a secret that the base does not have")
            else:
                values[variable["name"]] = variable["value"].replace("0.0.0.0", address)
        expand = lambda text: re.sub(r"\$\(([A-Z_]+)\)", lambda found: values[found[1]], text.replace("0.0.0.0", address))
        volumes = {volume["name"]: volume for volume in said["volumes"]}
        mounts, tmpfs = [], []
        for mount in container["volumeMounts"]:
            volume = volumes[mount["name"]]
            if mount["mountPath"] == "/tmp":
                tmpfs.append("/tmp")
            elif "configMap" in volume:
                mounts.append((self.files(volume["configMap"]["name"]), mount["mountPath"], False))
            else:
                mounts.append((own(self.place / f"{name}-{mount['name']}"), mount["mountPath"], True))
        made = Pod(
            Container(
                name, address, [*self.image.entrypoint, *map(expand, container["args"])], values, mounts, tmpfs,
                self.place / f"{name}.log",
            ),
            {kind: container[kind] for kind in ("startupProbe", "readinessProbe", "livenessProbe") if kind in container},
            said.get("terminationGracePeriodSeconds", 30),
        )
        for (kind, service), found in self.objects.items():
            if kind == "Service" and found["spec"]["selector"].items() <= labels.items():
                self.addresses.setdefault(service, []).append(address)
        self.pods.append(made)
        return made

    def files(self, config_map: str) -> pathlib.Path:
        """A folder of links into a folder with a date, by which the kubelet changes all files at once."""
        folder = self.place / config_map
        if not folder.exists():
            dated = folder / "..2026_11_22_01_30_00.1"
            dated.mkdir(parents=True)
            (folder / "..data").symlink_to(dated.name)
            for name, text in self.objects["ConfigMap", config_map]["data"].items():
                (dated / name).write_text(text)
                (folder / name).symlink_to(f"..data/{name}")
        return folder

    def deployment(self, name: str) -> list[Pod]:
        spec = self.objects["Deployment", name]["spec"]
        pods = [self.pod(f"{name}-{number}", spec["template"]) for number in range(spec["replicas"])]
        for pod in pods:
            pod.container.start(self.sandbox)
        return pods


def main(binary: pathlib.Path, place: pathlib.Path) -> None:
    cluster = Cluster(binary, place)
    names.serve(cluster.addresses)
    try:
        play(cluster)
    finally:
        for pod in cluster.pods:
            pod.container.kill()


def play(cluster: Cluster) -> None:
    workers = cluster.deployment("gabfest-worker")
    (coordinator,) = cluster.deployment("gabfest-coordinator")
    for pod in [coordinator, *workers]:
        for kind, probe in pod.probes.items():
            until(f"the {kind} of {pod.container.name}", 120, lambda: asked(pod.container.address, probe))
    job = cluster.objects["CronJob", "gabfest-nightly"]["spec"]["jobTemplate"]["spec"]
    nightly = cluster.pod("nightly", job["template"])
    nightly.container.start(cluster.sandbox)
    if (code := nightly.container.process.wait(300)) != 0:
        sys.exit(f"the nightly job ended with {code}")
    # The pod was lost and another takes its place: the same run, and the same end.
    again = nightly.container
    again.start(cluster.sandbox)
    if (code := again.process.wait(120)) != 0:
        sys.exit(f"the nightly job, started again, ended with {code}")
    runs = again.run(cluster.sandbox, [*cluster.image.entrypoint, "runs"], 20).stdout
    print(f"nightly: {runs.strip()}")
    if runs.count("\n") != 2 or JOB not in runs:
        sys.exit("a job that is started again must go on with its run")
    for pod in [*workers, coordinator]:
        if (code := pod.container.stop(pod.grace_seconds)) != 0:
            sys.exit(f"{pod.container.name} ended with {code} after SIGTERM")
    print(f"drained: {len(workers)} workers and the coordinator ended with 0")


def asked(address: str, probe: dict) -> bool:
    try:
        if "grpc" in probe:
            return serving(address, probe["grpc"]["port"])
        port = {"metrics": 9464}[probe["httpGet"]["port"]]
        with urllib.request.urlopen(f"http://{address}:{port}{probe['httpGet']['path']}", timeout=3) as reply:
            return reply.status == 200
    except OSError:
        return False


def serving(address: str, port: int) -> bool:
    """grpc.health.v1.Health/Check in the fewest bytes of HTTP/2: settings, one request, and the start of the answer."""
    frame = lambda kind, flags, stream, payload: len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
    # Names and values as they are, without a table.
    field = lambda name, value: b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value
    head = field(b":method", b"POST") + field(b":scheme", b"http") + field(b":path", b"/grpc.health.v1.Health/Check")
    head += field(b":authority", b"probe") + field(b"content-type", b"application/grpc") + field(b"te", b"trailers")
    with socket.create_connection((address, port), timeout=3) as stream:
        stream.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 4, 1, head) + frame(0, 1, 1, bytes(5)))
        heard = b""
        # The message: not compressed, two bytes long, field 1 (status) is 1, which is SERVING.
        while b"\x00\x00\x00\x00\x02\x08\x01" not in heard:
            more = stream.recv(4096)
            if not more:
                return False
            heard += more
    return True


if __name__ == "__main__":
    stage.begin(main)
