"""Starts Rotel, a third-party collector, instead of the OpenTelemetry collector, and reads what it prints."""

import pathlib
import re
import sysconfig

# Rotel indents an event's name inside a span further.
METRIC = re.compile(r"^     -> Name: ((?:gabfest|gen_ai\.client)\..+)$", re.MULTILINE)
PROGRAM = pathlib.Path(sysconfig.get_path("purelib")) / "rotel/rotel-agent"


def arguments(grpc: str, http: str) -> list[str]:
    """Listens on two addresses and prints every span, metric and log record."""
    words = ["start", "--exporter", "blackhole", "--debug-log-verbosity", "detailed"]
    words += ["--otlp-grpc-endpoint", grpc, "--otlp-http-endpoint", http]
    for signal in ("traces", "metrics", "logs"):
        words += ["--debug-log", signal]
    return words


class Printed:
    """The output, read again for each query."""

    def __init__(self, log: pathlib.Path):
        self.log = log

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def spans(self) -> int:
        return len(re.findall(r"^Span #\d+$", self.text(), re.MULTILINE))

    def records(self, event: str) -> int:
        """The log records of an event with this name."""
        return len(re.findall(rf"^EventName: {re.escape(event)}$", self.text(), re.MULTILINE))

    def metrics(self) -> list[str]:
        return METRIC.findall(self.text())

    def total(self, metric: str, **labels: str) -> float:
        """The sum of all points of a metric with these attributes; for a histogram, its count."""
        # The text is a name, its content, the next name, and so on. A line marks the end of the last point of a message.
        _, *words = METRIC.split(self.text())
        of_the_metric = [text for name, text in zip(words[::2], words[1::2]) if name == metric]
        total = 0.0
        for point in (point for text in of_the_metric for point in text.split("DataPoints #")[1:]):
            point = point.split("\nResource", 1)[0]
            if all(f"-> {name}: Str({value})\n" in point for name, value in labels.items()):
                total += float(re.search(r"^(?:Value|Count): (\S+)$", point, re.MULTILINE)[1])
        return total
