"""Rotel, which others made, in the place of the OpenTelemetry collector: how it is started, and what it printed of all that arrived."""

import pathlib
import re
import sysconfig

# An event's name in a span is printed further to the right.
METRIC = re.compile(r"^     -> Name: ((?:gabfest|gen_ai\.client)\..+)$", re.MULTILINE)
PROGRAM = pathlib.Path(sysconfig.get_path("purelib")) / "rotel/rotel-agent"


def arguments(grpc: str, http: str) -> list[str]:
    """Listens at two addresses, prints every span, figure and log record, and sends them nowhere."""
    words = ["start", "--exporter", "blackhole", "--debug-log-verbosity", "detailed"]
    words += ["--otlp-grpc-endpoint", grpc, "--otlp-http-endpoint", http]
    for signal in ("traces", "metrics", "logs"):
        words += ["--debug-log", signal]
    return words


class Printed:
    """What it printed, read again each time that something is asked."""

    def __init__(self, log: pathlib.Path):
        self.log = log

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def spans(self) -> int:
        return len(re.findall(r"^Span #\d+$", self.text(), re.MULTILINE))

    def records(self, event: str) -> int:
        """Log records that are an event of this name."""
        return len(re.findall(rf"^EventName: {re.escape(event)}$", self.text(), re.MULTILINE))

    def metrics(self) -> list[str]:
        return METRIC.findall(self.text())

    def total(self, metric: str, **labels: str) -> float:
        """The sum of all points of a metric whose attributes say this; of a histogram, how often it was told something."""
        # The text is a name, what belongs to it, the next name, and so on. The last point of a message ends where a line says so.
        _, *words = METRIC.split(self.text())
        of_the_metric = [text for name, text in zip(words[::2], words[1::2]) if name == metric]
        total = 0.0
        for point in (point for text in of_the_metric for point in text.split("DataPoints #")[1:]):
            point = point.split("\nResource", 1)[0]
            if all(f"-> {name}: Str({value})\n" in point for name, value in labels.items()):
                total += float(re.search(r"^(?:Value|Count): (\S+)$", point, re.MULTILINE)[1])
        return total
