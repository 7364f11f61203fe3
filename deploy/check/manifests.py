"""Checks what the overlays of kubernetes/ make, beyond the schemas: rights, names, ports, flags, who reaches whom, and digests.

    manifests.py GABFEST PLACE    with `kubectl` in the path
"""

import pathlib
import re
import sys

import pod_rules
import reach
import references
from rendered import Rendered
from stage import DEPLOY

OVERLAYS = DEPLOY / "kubernetes/overlays"
DIGEST = "@sha256:" + "0" * 64


def main(gabfest: str, place: pathlib.Path) -> None:
    names = sorted(folder.name for folder in OVERLAYS.iterdir())
    for name in names:
        rendered = Rendered(OVERLAYS / name)
        pod_rules.check(rendered, gabfest)
        references.check(rendered)
        reach.check(rendered)
    own_overlays(gabfest, place)
    print(f"{', '.join(names)}: rights, bounds, probes, flags, names, ports, secrets and policies")


def own_overlays(gabfest: str, place: pathlib.Path) -> None:
    """The overlays that docs/operations.md shows: their own files apart, they must be complete, and have images by digest."""
    shown = re.findall(r"```yaml\n(resources:.+?)```", references.PAGE, re.DOTALL)
    if not shown:
        sys.exit("docs/operations.md shows no overlay")
    for number, text in enumerate(shown):
        folder = place / f"overlay-{number}"
        (folder / "scenarios").mkdir(parents=True)
        (place / "gabfest").symlink_to(DEPLOY.parent) if not (place / "gabfest").exists() else None
        (folder / "kustomization.yaml").write_text(re.sub(r"sha256:[0-9a-f…]+", DIGEST[1:], text))
        (folder / "agent.yaml").write_text(agent_policy())
        for file in re.findall(r"files: \[([^]]+)\]", text):
            (folder / file).write_text("{}\n")
        rendered = Rendered(folder)
        pod_rules.check(rendered, gabfest)
        references.check(rendered)
        for pod in rendered.pods:
            for container in pod.containers():
                if not container["image"].endswith(DIGEST):
                    sys.exit(f"the overlay of docs/operations.md leaves {container['image']} without a digest")


def agent_policy() -> str:
    """The policy for an agent in the cluster that docs/operations.md shows."""
    return re.search(r"```yaml\n(apiVersion: networking.k8s.io/v1\n.+?)```", references.PAGE, re.DOTALL)[1]


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
