"""Plays runs that tell a collector of others about themselves, by each protocol: everything arrives, and no key does.

    otlp.py BINARY PLACE    inside a network of its own
"""

import http.server
import json
import pathlib
import subprocess
import sys
import threading

import stage
from collector import PROGRAM, Printed, arguments

GRPC, HTTP = "127.0.0.1:4317", "127.0.0.1:4318"
WAYS = {"grpc": GRPC, "http/protobuf": HTTP, "http/json": HTTP}
# By HTTP as JSON, OTLP writes integers of 64 bits as texts, but Rotel expects numbers, so it shows only the names of figures.
NAMES_ALONE = "http/json"
# A planted key of the agent: the agent repeats it, and no collector may receive it.
CANARY = "sk-canary-9b1f04d7c26e83a5"
# Slow enough for the exporter to keep up.
SETTINGS = """endpoints:
  mock: { kind: mock, mock: { latency: { kind: uniform, min_ms: 5, max_ms: 15 }, pass: [{ probability: 0.9 }] } }
  parrot: { url: "http://127.0.0.1:%d/v1", key: "env:PARROT_KEY", retries: { deadline_ms: 300 } }
agents:
  parrot: { endpoint: parrot }
"""
ASK = """name: %s
description: The agent says its key again.
run:
  - input: %s
    evaluations: [{ type: string_contains, value: at your service }]
judgment: { strategy: all_pass }
"""


def main(binary: pathlib.Path, place: pathlib.Path) -> None:
    parrot = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Parrot)
    threading.Thread(target=parrot.serve_forever, daemon=True).start()
    (place / "gabfest.yaml").write_text(SETTINGS % parrot.server_port)
    (place / "asked").mkdir()
    for name in ("Answer", "Refuse"):
        (place / f"asked/{name}.scenario.yaml").write_text(ASK % (name, name))
    names = set()
    for protocol, address in WAYS.items():
        told = place / protocol.replace("/", "-")
        told.mkdir()
        printed = told_whole(binary, place, told, protocol, address)
        names.add(frozenset(printed.metrics()))
    if len(names) != 1:
        sys.exit(f"some metrics arrived by one protocol and not by another: {names}")
    if Parrot.unasked:
        sys.exit(f"the agent was not shown its key: {Parrot.unasked}")


def told_whole(binary: pathlib.Path, place: pathlib.Path, told: pathlib.Path, protocol: str, address: str) -> Printed:
    """Plays two runs with one collector, whose output must match the counts of their reports."""
    log = place / f"{told.name}.log"
    with log.open("wb") as output:
        rotel = subprocess.Popen([PROGRAM, *arguments(GRPC, HTTP)], stdout=output, stderr=output)
    try:
        stage.until("the collector listens", 60, lambda: all(map(stage.listens, (GRPC, HTTP))))
        environment = {
            "PARROT_KEY": CANARY,
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{address}",
            "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
            "OTEL_TRACES_SAMPLER": "always_on",
            "OTEL_BSP_MAX_QUEUE_SIZE": "100000",
            "OTEL_BLRP_MAX_QUEUE_SIZE": "100000",
            # Sent once, at the end: repeated metrics would count twice.
            "OTEL_METRIC_EXPORT_INTERVAL": "3600000",
        }
        summaries, judged, called = [], 0, 0
        for name, words, content in [
            ("shipped", [stage.DEPLOY.parent / "scenarios"], "false"), ("asked", [place / "asked", "--agent", "parrot"], "true"),
        ]:
            played = subprocess.run(
                [binary, "run", *words, "--config", place / "gabfest.yaml", "--out", told / name, "--quiet"],
                env={**environment, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": content}, capture_output=True, text=True, timeout=300,
            )
            if played.returncode != 1 or "telemetry" in played.stderr:
                sys.exit(f"{protocol}: the run {name} ended with {played.returncode}\n{played.stdout[-2000:]}\n{played.stderr[-2000:]}")
            summaries.append(json.loads((told / name / "report.json").read_text())["summary"])
            trials = (told / name / "trials.jsonl").read_text().splitlines()
            judged += sum(len(json.loads(trial)["judgments"]) for trial in trials)
            transcripts = (told / name / "transcripts.jsonl").read_text().splitlines()
            turns = [turn for transcript in transcripts for turn in json.loads(transcript)["turns"]]
            by_user = lambda turn: (turn.get("simulated") or {}).get("calls", [])
            called += sum(len(turn["tool_calls"]) + len(by_user(turn)) for turn in turns)
    finally:
        rotel.terminate()
        code = rotel.wait(30)
    if code != 0:
        sys.exit(f"{protocol}: the collector ended with {code}")

    arrived, printed = {**told_of(summaries, judged, called), **(figures(summaries) if protocol != NAMES_ALONE else {})}, Printed(log)
    for what, (count, find) in arrived.items():
        if (found := find(printed)) != count:
            sys.exit(f"{protocol}: {found:.0f} {what} arrived, and the reports count {count}")
    text = printed.text()
    if CANARY in text:
        sys.exit(f"{protocol}: the planted key reached the collector")
    if text.count("my key is Bearer [redacted]") < 2:
        sys.exit(f"{protocol}: what the agent said did not reach the collector")
    print(f"{protocol}: " + ", ".join(f"{count} {what}" for what, (count, _) in arrived.items()) + ", and no key")
    return printed


def told_of(summaries: list[dict], judged: int, called: int) -> dict:
    """How many spans and events there are by the reports, and their form in the collector's output."""
    count = lambda of: sum(map(of, summaries))
    # Two for each attempt (run and trial), one for each turn, call and tool call, and one for each run's end.
    spans = count(lambda one: 2 * one["attempts"]["total"] + one["turns"] + sum(one["llm_calls"].values()) + 1) + called
    return {"spans": (spans, Printed.spans), "judgments": (judged, lambda printed: printed.records("gen_ai.evaluation.result"))}


def figures(summaries: list[dict]) -> dict:
    """The expected metrics from the reports, and the actual ones."""
    count = lambda of: sum(map(of, summaries))
    metric = lambda name, **labels: lambda printed: printed.total(name, **labels)
    return {
        "conversations": (count(lambda one: one["conversations"]), metric("gabfest.conversations")),
        "trials": (count(lambda one: one["trials"]["planned"]), metric("gabfest.trials.played")),
        "passed": (count(lambda one: one["trials"]["pass"]), metric("gabfest.trials.played", verdict="PASS")),
        "turns": (count(lambda one: one["turns"]), metric("gabfest.turns")),
        "answers": (count(lambda one: one["latency"]["turn"]["count"]), metric("gabfest.turn.duration")),
        "calls": (count(lambda one: sum(one["llm_calls"].values())), metric("gabfest.calls")),
        "calls of judges": (count(lambda one: one["llm_calls"]["judge"]), metric("gabfest.calls", role="judge")),
    }


class Parrot(http.server.BaseHTTPRequestHandler):
    """An agent that repeats the key of its caller, in an answer or in a refusal."""

    unasked: list[str] = []

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["content-length"]))
        shown = self.headers.get("authorization", "nothing")
        if shown != f"Bearer {CANARY}":
            self.unasked.append(shown)
        message = {"role": "assistant", "content": f"my key is {shown}"}
        body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(401 if b"Refuse" in asked else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


if __name__ == "__main__":
    stage.begin(main)
