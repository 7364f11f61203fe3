"""The rules and alerts of grafana/rules as one object for the Prometheus operator.

    prometheus_rule.py [--write]    compares the file in kubernetes/ with grafana/rules, or writes it
"""

import pathlib
import sys

DEPLOY = pathlib.Path(__file__).parent.parent
RULES = DEPLOY.parent / "grafana/rules"
OBJECT = DEPLOY / "kubernetes/components/monitoring/rules.yaml"
HEAD = """# grafana/rules for the Prometheus operator. Do not edit: deploy/check/prometheus_rule.py --write makes it.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: { name: gabfest }
spec:
  groups:
"""


def made() -> str:
    """Every file has one list of groups, which are put one after the other."""
    text = HEAD
    for name in ("recording.yml", "alerts.yml"):
        _, groups = (RULES / name).read_text().split("\ngroups:\n")
        text += "".join(f"  {line}\n" if line else "\n" for line in groups.splitlines())
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        OBJECT.write_text(made())
    elif OBJECT.read_text() != made():
        sys.exit(f"{OBJECT} differs from grafana/rules: deploy/check/prometheus_rule.py --write makes it again")
