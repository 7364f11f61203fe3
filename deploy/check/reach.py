"""Who reaches whom by the network policies: what a fleet needs, and nothing else."""

import ipaddress
import sys

from rendered import Pod, Rendered, matches

GABFEST = {"app.kubernetes.io/name": "gabfest"}
# (from, to, port) between components.
NEEDED = {("worker", "coordinator", 7400), ("nightly", "coordinator", 7400)}
PEERS = {("coordinator", "coordinator", 7400)}
STORED = {("coordinator", "database", 5432)}


def check(rendered: Rendered) -> None:
    policies = rendered.of("NetworkPolicy")
    components = {pod.component: pod for pod in rendered.pods}
    expected = set(NEEDED)
    if ("Service", "gabfest-coordinators") in rendered.objects:
        expected |= PEERS
    if "database" in components:
        expected |= STORED
    ports = {port for pod in rendered.pods for port in pod.ports().values()}
    found = {
        (one.component, other.component, port)
        for one in rendered.pods for other in rendered.pods for port in ports
        if leaves(policies, one, port, inside(other)) and enters(policies, other, port, inside(one))
    }
    if found != expected:
        sys.exit(f"{rendered.name}: allowed and not needed {found - expected}, needed and not allowed {expected - found}")
    for pod in rendered.pods:
        if not leaves(policies, pod, 53, elsewhere("kube-system", {"k8s-app": "kube-dns"})):
            sys.exit(f"{rendered.name}: {pod.name} reaches no name server")
        scraped = pod.component in ("coordinator", "worker")
        if enters(policies, pod, 9464, elsewhere("monitoring", {})) != scraped or enters(policies, pod, 9464, elsewhere("default", {})):
            sys.exit(f"{rendered.name}: the metrics of {pod.name} must be open to the namespace `monitoring` alone")
        provider, private = address("203.0.113.7"), [address(one) for one in ("10.1.2.3", "169.254.169.254", "192.168.0.1", "fd00::1")]
        if leaves(policies, pod, 443, provider) != (pod.component == "worker") or any(leaves(policies, pod, 443, one) for one in private):
            sys.exit(f"{rendered.name}: only workers reach providers, and nobody a private address; {pod.name} differs")
        if any(enters(policies, pod, port, provider) for port in ports):
            sys.exit(f"{rendered.name}: {pod.name} is open to the internet")


def inside(pod: Pod):
    """A pod of the same namespace, as the peer of a rule."""
    return lambda peer: "ipBlock" not in peer and "namespaceSelector" not in peer and matches(peer["podSelector"], pod.labels)


def elsewhere(namespace: str, labels: dict[str, str]):
    def is_it(peer: dict) -> bool:
        names = {"kubernetes.io/metadata.name": namespace}
        return "namespaceSelector" in peer and matches(peer["namespaceSelector"], names) and matches(peer.get("podSelector", {}), labels)

    return is_it


def address(text: str):
    one = ipaddress.ip_address(text)
    within = lambda block: one in ipaddress.ip_network(block)

    def is_it(peer: dict) -> bool:
        block = peer.get("ipBlock")
        return bool(block) and within(block["cidr"]) and not any(map(within, block.get("except", [])))

    return is_it


def enters(policies: list[dict], pod: Pod, port: int, is_peer) -> bool:
    return allowed(policies, pod, port, is_peer, "Ingress", "from")


def leaves(policies: list[dict], pod: Pod, port: int, is_peer) -> bool:
    return allowed(policies, pod, port, is_peer, "Egress", "to")


def allowed(policies: list[dict], pod: Pod, port: int, is_peer, way: str, side: str) -> bool:
    """As Kubernetes decides: everything if no policy selects the pod, otherwise what one of them allows."""
    specs = [found["spec"] for found in policies if way in found["spec"]["policyTypes"] and matches(found["spec"]["podSelector"], pod.labels)]
    if not specs:
        return True
    rules = [rule for spec in specs for rule in spec.get(way.lower(), [])]
    is_port = lambda rule: "ports" not in rule or any(one["port"] == port for one in rule["ports"])
    return any(is_port(rule) and (side not in rule or any(map(is_peer, rule[side]))) for rule in rules)
