#!/usr/bin/env python3
"""Lists every line of the simulated user in the runs below a folder, for labelling by hand, and counts what gabfest noted.

Usage: lines.py OUT. Writes OUT/lines.tsv: domain, trial, turn, what the agent had said, what the user says, faults. Column `label` is empty.
"""
import csv
import json
import pathlib
import sys

out = pathlib.Path(sys.argv[1])
rows, ends, faults, sent_back = [], {}, {}, 0
for run in sorted(path for path in out.iterdir() if (path / "transcripts.jsonl").exists()):
    trials = {}
    for line in (run / "trials.jsonl").read_text().splitlines():
        trial = json.loads(line)
        trials[trial.get("trial_id") or trial.get("id")] = trial
        stop = trial.get("stop") or {}
        reason = stop.get("signal") or trial.get("termination_reason") or trial.get("failure_kind") or "none"
        ends[reason] = ends.get(reason, 0) + 1
    for line in (run / "transcripts.jsonl").read_text().splitlines():
        trial = json.loads(line)
        before = ""
        for turn in trial["turns"]:
            if turn.get("speaker") == "simulated":
                found = [fault["kind"] for fault in (turn.get("simulated") or {}).get("faults", []) if fault["sent"]]
                sent_back += (turn.get("simulated") or {}).get("sent_back", 0)
                for kind in found:
                    faults[kind] = faults.get(kind, 0) + 1
                said = turn["user"].replace("\n", " ")
                rows.append([run.name, trial.get("trial_id") or trial.get("trial"), turn["number"], before, said, " ".join(found), ""])
            before = (turn.get("agent") or "").replace("\n", " ")
with open(out / "lines.tsv", "w", newline="") as file:
    table = csv.writer(file, delimiter="\t")
    table.writerow(["domain", "trial", "turn", "agent", "user", "faults", "label"])
    table.writerows(rows)
print(f"{len(rows)} lines of the simulated user; talks ended by {ends}; faults noted on sent lines: {faults}; drafts sent back: {sent_back}")
