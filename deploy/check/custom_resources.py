"""Checks objects of KEDA and of the Prometheus operator against models that are made from their definitions.

    custom_resources.py FILE...    rendered manifests
"""

import sys

import yaml
from cloudcoil.models.keda import v1alpha1 as keda
from cloudcoil.models.prometheus_operator import v1 as prometheus

MODELS = {
    ("keda.sh/v1alpha1", "ScaledObject"): keda.ScaledObject,
    ("monitoring.coreos.com/v1", "PodMonitor"): prometheus.PodMonitor,
    ("monitoring.coreos.com/v1", "PrometheusRule"): prometheus.PrometheusRule,
}
# kubernetes-validate knows these.
CORE = ("v1", "apps/v1", "batch/v1", "policy/v1", "networking.k8s.io/v1")


def unknown(said: object, understood: object, path: str = "") -> list[str]:
    """Fields that the model dropped because it does not know them."""
    if isinstance(said, dict) and isinstance(understood, dict):
        missing = [f"{path}.{key}" for key in said if key not in understood]
        return missing + [one for key in said if key in understood for one in unknown(said[key], understood[key], f"{path}.{key}")]
    if isinstance(said, list) and isinstance(understood, list):
        return [one for number, pair in enumerate(zip(said, understood)) for one in unknown(*pair, f"{path}[{number}]")]
    return []


def check(found: dict) -> None:
    """Exits if an object has wrong or unknown fields, or if nothing knows its kind."""
    if found["apiVersion"] in CORE:
        return
    name = f"{found['kind']} {found['metadata']['name']}"
    model = MODELS.get((found["apiVersion"], found["kind"])) or sys.exit(f"{name}: no schema for {found['apiVersion']}")
    try:
        understood = model.model_validate(found).model_dump(mode="json", by_alias=True, exclude_unset=True)
    except ValueError as error:
        sys.exit(f"{name}: {error}")
    if dropped := unknown(found, understood):
        sys.exit(f"{name} has unknown fields: {', '.join(dropped)}")


if __name__ == "__main__":
    for file in sys.argv[1:]:
        with open(file) as text:
            for found in yaml.safe_load_all(text):
                check(found)
