"""The amounts that the agent names are not above a maximum."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from gabfest_check import check


@check
def totals(transcript, config):
    """Fails if the agent names a larger amount than `max`."""
    findings = []
    for turn in transcript["turns"]:
        for amount in re.findall(r"(\d+(?:\.\d+)?) EUR", turn["agent"] or ""):
            findings.append({"id": f"turn {turn['n']}: {amount} EUR", "pass": float(amount) <= config["max"]})
    if not findings:
        return {"not_applicable": True, "reason": "the agent names no amount"}
    wrong = [finding["id"] for finding in findings if not finding["pass"]]
    reason = f"too much: {', '.join(wrong)}" if wrong else f"{len(findings)} amounts are at most {config['max']} EUR"
    return {"pass": not wrong, "reason": reason, "findings": findings}


if __name__ == "__main__":
    totals.run()
