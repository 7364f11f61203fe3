"""What KEDA asks Prometheus gives the number of trials to play, by a unit test of promtool.

    keda.py PLACE    with `kubectl` and `promtool` in the path
"""

import pathlib
import subprocess
import sys

import yaml

from rendered import Rendered
from stage import DEPLOY

TIME = "1m"
# The series of two coordinators, and what KEDA gets: nothing means that it falls back.
CASES = [
    ({"gabfest_workers": [0, 0]}, [0]),
    ({"gabfest_workers": [3, 0], 'gabfest_queue_depth{suite="a"}': [100, 0], 'gabfest_trials_leased{suite="a"}': [28, 0]}, [128]),
    # A coordinator has the figures of the other too, or both have played the suite.
    ({"gabfest_workers": [3, 3], 'gabfest_queue_depth{suite="a"}': [100, 100], 'gabfest_trials_leased{suite="a"}': [28, 28]}, [128]),
    ({"gabfest_workers": [3], 'gabfest_queue_depth{suite="a"}': [5], 'gabfest_queue_depth{suite="b"}': [6],
      'gabfest_trials_leased{suite="a"}': [7], 'gabfest_trials_leased{suite="b"}': [8]}, [26]),
    ({}, []),
]


def series(name: str, number: int) -> str:
    metric, _, labels = name.rstrip("}").partition("{")
    return f'{metric}{{namespace="gabfest",instance="{number}"{labels and "," + labels}}}'


def main(place: pathlib.Path) -> None:
    (scaled,) = Rendered(DEPLOY / "kubernetes/overlays/fleet").of("ScaledObject")
    (trigger,) = scaled["spec"]["triggers"]
    tests = [
        {
            "interval": TIME,
            "input_series": [
                {"series": series(name, number), "values": f"{value} {value}"}
                for name, values in figures.items() for number, value in enumerate(values)
            ],
            "promql_expr_test": [
                {"expr": trigger["metadata"]["query"], "eval_time": TIME, "exp_samples": [{"labels": "{}", "value": value} for value in expected]}
            ],
        }
        for figures, expected in CASES
    ]
    file = place / "keda.yaml"
    file.write_text(yaml.safe_dump({"tests": tests}))
    tested = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True)
    if tested.returncode != 0:
        sys.exit(f"KEDA gets another number of trials\n{tested.stdout}{tested.stderr}")
    print(f"KEDA: the right number of trials in {len(CASES)} cases")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
