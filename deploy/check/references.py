"""Names in kubernetes/ mean something: selectors, ports, hosts, volumes, documented secrets, and metrics."""

import re
import sys

from rendered import Pod, Rendered
from stage import DEPLOY

PAGE = (DEPLOY.parent / "docs/operations.md").read_text()
METRICS = (DEPLOY.parent / "docs/telemetry.md").read_text()


def check(rendered: Rendered) -> None:
    wrong = lambda reason: sys.exit(f"{rendered.name}: {reason}")
    for found in rendered.all:
        name = f"{found['kind']} {found['metadata']['name']}"
        for pods, ports in chosen(rendered, found):
            if not pods:
                wrong(f"{name} selects no pod")
            for port in ports:
                if not all(port in pod.ports() or port in pod.ports().values() for pod in pods):
                    wrong(f"{name} has the port {port}, which {pods[0].name} does not open")
    for pod in rendered.pods:
        hosts(rendered, pod, wrong)
        volumes(rendered, pod, wrong)
        secrets(pod, wrong)
    for scaled in rendered.of("ScaledObject"):
        scales(rendered, scaled, wrong)


def chosen(rendered: Rendered, found: dict) -> list[tuple[list[Pod], list]]:
    """The pods that an object selects, and the ports that they must have."""
    spec = found.get("spec", {})
    match found["kind"]:
        case "Service":
            return [(rendered.selected({"matchLabels": spec["selector"]}), [port["targetPort"] for port in spec["ports"]])]
        case "Deployment" | "StatefulSet":
            pods = [rendered.selected(one["labelSelector"]) for one in spec["template"]["spec"].get("topologySpreadConstraints", [])]
            return [(one, []) for one in [rendered.selected(spec["selector"]), *pods]]
        case "PodDisruptionBudget":
            return [(rendered.selected(spec["selector"]), [])]
        case "PodMonitor":
            return [(rendered.selected(spec["selector"]), [one["port"] for one in spec["podMetricsEndpoints"]])]
        case "NetworkPolicy":
            targets = rendered.selected(spec["podSelector"])
            entered = [port["port"] for rule in spec.get("ingress", []) for port in rule["ports"]]
            left = [
                (rendered.selected(peer["podSelector"]), [port["port"] for port in rule["ports"]])
                for rule in spec.get("egress", []) for peer in rule["to"] if "podSelector" in peer and "namespaceSelector" not in peer
            ]
            peers = [
                (rendered.selected(peer["podSelector"]), [])
                for rule in spec.get("ingress", []) for peer in rule["from"] if "podSelector" in peer and "namespaceSelector" not in peer
            ]
            return [(targets, []), *[([pod for pod in targets if port in pod.ports().values()], [port]) for port in entered], *left, *peers]
    return []


def hosts(rendered: Rendered, pod: Pod, wrong) -> None:
    for container in pod.containers():
        values = [variable.get("value", "") for variable in container.get("env", [])]
        for host, port in re.findall(r"https?://([a-z0-9.-]+):(\d+)", " ".join([*values, *container.get("args", [])])):
            service = rendered.objects.get(("Service", host)) or wrong(f"{pod.name} calls {host}, which is no service")
            if int(port) not in [one["port"] for one in service["spec"]["ports"]]:
                wrong(f"{pod.name} calls {host} at the port {port}, which the service does not have")
        for host in re.findall(r"\$\(POD_NAME\)\.([a-z0-9-]+):", " ".join(container.get("args", []))):
            found = rendered.objects.get((pod.kind, pod.name), {}).get("spec", {})
            if found.get("serviceName") != host or rendered.objects["Service", host]["spec"].get("clusterIP") != "None":
                wrong(f"{pod.name} has no name in the service {host}")


def volumes(rendered: Rendered, pod: Pod, wrong) -> None:
    for volume in pod.spec.get("volumes", []):
        for source, kind, key in (("configMap", "ConfigMap", "name"), ("persistentVolumeClaim", "PersistentVolumeClaim", "claimName")):
            if source in volume and (kind, volume[source][key]) not in rendered.objects:
                wrong(f"{pod.name} needs the {kind} {volume[source][key]}")


def secrets(pod: Pod, wrong) -> None:
    """docs/operations.md has the command that makes each secret, with each key."""
    needed = {(volume["secret"]["secretName"], None) for volume in pod.spec.get("volumes", []) if "secret" in volume}
    for container in pod.containers():
        sources = [variable.get("valueFrom", {}).get("secretKeyRef") for variable in container.get("env", [])]
        needed |= {(source["name"], source["key"]) for source in sources if source}
    for name, key in needed:
        made = re.findall(rf"kubectl create secret generic {re.escape(name)} (.+)", PAGE)
        keys = [word for line in made for word in re.findall(r"--from-(?:literal=|file=)([^\s=]+)", line)]
        if not made or (key and not any(word == key or word.endswith(f"/{key}") for word in keys)):
            wrong(f"{pod.name} needs the secret {name} ({key or 'any key'}), and docs/operations.md does not make it")


def scales(rendered: Rendered, scaled: dict, wrong) -> None:
    spec, namespace = scaled["spec"], scaled["metadata"]["namespace"]
    target = rendered.objects["Deployment", spec["scaleTargetRef"]["name"]]
    if "replicas" in target["spec"]:
        wrong("the workers have a number, and KEDA decides it")
    words = target["spec"]["template"]["spec"]["containers"][0]["args"]
    for trigger in spec["triggers"]:
        query, threshold = trigger["metadata"]["query"], trigger["metadata"]["threshold"]
        if threshold != words[words.index("--slots") + 1]:
            wrong(f"KEDA adds a worker for each {threshold} trials, and a worker has other --slots")
        for metric, labels in re.findall(r"\b(gabfest_\w+)(\{[^}]*\})?", query):
            if f"| `{metric}` |" not in METRICS:
                wrong(f"docs/telemetry.md has no metric {metric}")
            if f'namespace="{namespace}"' not in labels:
                wrong(f"KEDA counts {metric} of other namespaces too")
