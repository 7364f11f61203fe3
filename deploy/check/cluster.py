"""Starts what an overlay of kubernetes/ says as processes: the image's files, and the manifests' arguments, variables and mounts.
Configuration and secrets are mounted by links, as the kubelet does it."""

import dataclasses
import pathlib
import re
import shutil
import sys
import urllib.request

import database
import stage
from container import Container, of_image, own
from rendered import Pod, Rendered
from stage import until

JOB_LABEL = "batch.kubernetes.io/job-name"


@dataclasses.dataclass
class Started:
    container: Container
    probes: dict[str, dict]
    ports: dict[str, int]
    grace_seconds: float

    def answers(self) -> None:
        for kind, probe in self.probes.items():
            until(f"the {kind} of {self.container.name}", 120, lambda: self.asked(probe))

    def asked(self, probe: dict) -> bool:
        request = probe["httpGet"]
        try:
            address = f"http://{self.container.address}:{self.ports[request['port']]}{request['path']}"
            with urllib.request.urlopen(address, timeout=3) as reply:
                return reply.status == 200
        except OSError:
            return False

    def stop(self) -> None:
        if (code := self.container.stop(self.grace_seconds)) != 0:
            sys.exit(f"{self.container.name} ended with {code} after SIGTERM")


class Cluster:
    def __init__(self, binary: pathlib.Path, place: pathlib.Path, network: int):
        self.place, self.network = place, network
        self.image, self.etc = stage.image(binary, place), stage.etc(place)
        self.sandbox = of_image(self.image, self.etc)
        self.addresses: dict[str, list[str]] = {}
        self.containers: list[Container] = []
        self.secrets: dict[str, dict[str, bytes]] = {}
        self.rendered: Rendered | None = None

    def address(self) -> str:
        return f"127.77.{self.network}.{len(self.containers) + 1}"

    def made(self, name: str, pod: Pod, said: dict, job: str = "") -> Container:
        """One container of a pod, not started."""
        rights = pod.spec["securityContext"]
        if f"{rights['runAsUser']}:{rights['runAsGroup']}" != self.image.user:
            sys.exit(f"{name} runs as another user than the image says")
        if not re.match(r"(registry\.example/)?gabfest[:@]", said["image"]):
            sys.exit(f"{name} runs another image")
        address = self.address()
        values = self.variables(name, pod, said, job, address)
        expand = lambda text: re.sub(r"\$\(([A-Z_]+)\)", lambda found: values[found[1]], text.replace("0.0.0.0", address))
        mounts, tmpfs = self.mounts(name, pod, said)
        command = [*self.image.entrypoint, *map(expand, said["args"])]
        container = Container(name, address, command, values, mounts, tmpfs, self.place / f"{name}.log")
        self.containers.append(container)
        return container

    def variables(self, name: str, pod: Pod, said: dict, job: str, address: str) -> dict[str, str]:
        values = {}
        for variable in said.get("env", []):
            source = variable.get("valueFrom", {})
            if "fieldRef" in source:
                path = source["fieldRef"]["fieldPath"]
                label = re.fullmatch(r"metadata\.labels\['(.+)'\]", path)
                values[variable["name"]] = {**pod.labels, JOB_LABEL: job}[label[1]] if label else {"metadata.name": name}[path]
            elif "secretKeyRef" in source:
                value = self.secrets.get(source["secretKeyRef"]["name"], {}).get(source["secretKeyRef"]["key"])
                if value is not None:
                    values[variable["name"]] = value.decode()
                elif not source["secretKeyRef"].get("optional"):
                    sys.exit(f"{name} needs the secret {source['secretKeyRef']}")
            else:
                values[variable["name"]] = variable["value"].replace("0.0.0.0", address)
        return values

    def mounts(self, name: str, pod: Pod, said: dict) -> tuple[list[tuple[pathlib.Path, str, bool]], list[str]]:
        volumes = {volume["name"]: volume for volume in pod.spec["volumes"]}
        mounts, tmpfs = [], []
        # A folder comes before what is mounted inside it.
        for mount in sorted(said.get("volumeMounts", []), key=lambda mount: len(mount["mountPath"])):
            volume, path, writable = volumes[mount["name"]], mount["mountPath"], not mount.get("readOnly", False)
            if path == "/tmp":
                tmpfs.append(path)
                continue
            if "configMap" in volume:
                source = self.files(f"{name}-{mount['name']}", self.texts(volume["configMap"]["name"]))
            elif "secret" in volume:
                source = self.files(f"{name}-{mount['name']}", self.secret(volume["secret"]))
            elif "persistentVolumeClaim" in volume:
                source = self.folder(volume["persistentVolumeClaim"]["claimName"])
            else:
                source = self.folder(f"{name}-{mount['name']}")
            for outer, target, _ in mounts:
                # The kubelet makes the folder for what is mounted inside a secret.
                if path.startswith(f"{target}/"):
                    (outer / path.removeprefix(f"{target}/")).mkdir(exist_ok=True)
            # Configuration and secrets cannot be written, whatever the manifest says.
            mounts.append((source, path, writable and not {"configMap", "secret"} & volume.keys()))
        return mounts, tmpfs

    def texts(self, name: str) -> dict[str, bytes]:
        return {file: text.encode() for file, text in self.rendered.objects["ConfigMap", name]["data"].items()}

    def secret(self, said: dict) -> dict[str, bytes]:
        found = self.secrets.get(said["secretName"], {})
        if not found and not said.get("optional"):
            sys.exit(f"the secret {said['secretName']} is missing")
        keys = [item["key"] for item in said["items"]] if "items" in said else found.keys()
        return {key: found[key] for key in keys if key in found}

    def folder(self, name: str) -> pathlib.Path:
        folder = self.place / "volumes" / name
        return folder if folder.exists() else own(folder)

    def files(self, name: str, files: dict[str, bytes]) -> pathlib.Path:
        """A folder of links into a folder with a date, by which the kubelet changes all files at once."""
        folder = self.place / "mounted" / name
        shutil.rmtree(folder, ignore_errors=True)
        dated = folder / "..2026_11_22_01_30_00.1"
        dated.mkdir(parents=True)
        (folder / "..data").symlink_to(dated.name)
        for file, text in files.items():
            (dated / file).write_bytes(text)
            # Readable by the group of the pod, which its user belongs to.
            (dated / file).chmod(0o444)
            (folder / file).symlink_to(f"..data/{file}")
        return folder

    def start(self, pod: Pod, replicas: int) -> list[Started]:
        if pod.component == "database":
            return [self.database(pod)]
        return [self.start_one(pod, f"{pod.name}-{number}") for number in range(replicas)]

    def start_one(self, pod: Pod, name: str) -> Started:
        (said,) = pod.spec["containers"]
        container = self.made(name, pod, said)
        self.named(pod, name, container.address)
        container.start(self.sandbox)
        probes = {kind: said[kind] for kind in ("startupProbe", "readinessProbe", "livenessProbe")}
        return Started(container, probes, pod.ports(), pod.spec.get("terminationGracePeriodSeconds", 30))

    def database(self, pod: Pod) -> Started:
        (said,) = pod.spec["containers"]
        address = self.address()
        variables = self.variables(pod.name, pod, said, "", address)
        container = database.start(pod.name, address, variables, self.place, self.etc)
        self.containers.append(container)
        self.named(pod, f"{pod.name}-0", address)
        return Started(container, {}, pod.ports(), pod.spec["terminationGracePeriodSeconds"])

    def named(self, pod: Pod, name: str, address: str) -> None:
        """The names of the services that select the pod, and its own in the service of its StatefulSet."""
        for service in self.rendered.of("Service"):
            if service["spec"]["selector"].items() <= pod.labels.items():
                self.addresses.setdefault(service["metadata"]["name"], []).append(address)
        governing = self.rendered.objects[pod.kind, pod.name]["spec"].get("serviceName")
        if governing:
            self.addresses[f"{name}.{governing}"] = [address]

    def job(self, name: str, change=lambda words: words) -> Container:
        """Starts a pod of the CronJob: its first containers until each ends with 0, as a job that is retried, and then its container."""
        (pod,) = [pod for pod in self.rendered.pods if pod.kind == "CronJob"]
        for said in pod.spec["initContainers"]:
            first = self.made(f"{name}-{said['name']}", pod, said, name)
            until(f"{said['name']} ends with 0", 60, lambda: first.run(self.sandbox, first.command, 30).returncode == 0)
        (said,) = pod.spec["containers"]
        container = self.made(name, pod, {**said, "args": change(said["args"])}, name)
        container.start(self.sandbox)
        return container

    def kill_all(self) -> None:
        for container in self.containers:
            container.kill()
