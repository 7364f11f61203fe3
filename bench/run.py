#!/usr/bin/env python3
"""Measures gabfest against bare loops over hyper and reqwest, and prints a table for this machine.

Usage: bench/run.py [--rounds N] [--only PART[,PART...]] [--binary FILE]... [--collector ADDRESS] [--real-time] [--watch-core] [--save FILE]

Each round plays every case with each program, one after the other, so that a slow minute of the machine slows all of
them. The server has core 0 and the measured program core 1. A figure is the median of the rounds, with the least and the
greatest; a ratio is the median of the rounds' ratios. CPU is the figure of record: the wall time of a shared machine
says little.

With --real-time, server and program run ahead of all other processes (chrt, as root): on a shared machine their latencies
then show their own delays. It is not for CPU and memory.

With --watch-core, a small loop ahead of all other processes (chrt, as root) times the same arithmetic on the program's core
each millisecond while starts are measured. So starts that are late because the core itself was slow can be told from others.

Several --binary compare builds of gabfest. Without one, the program of this folder that is shipped (`cargo xtask dist`) is built
and measured. The loops are built with the cargo profile `dist` too, but not optimised by counts of their runs.

Parts:
  cpu        CPU of four scripted turns with a check each
  streams    the same with streamed answers
  paced      streams of 16 pieces each 5 ms: CPU, and the error of the time to the first token
  wide       10,000 conversations at once
  crowd      30,000 at once, over three worker processes
  rates      how late conversations start at 500 and 2,000 starts a second: gabfest's own figure, the server's, and a bare loop's
  freeze     a server that stalls for 2 s at 200 starts a second: the slowest 1 % of response times must show it
  start      from the start of the program to its first request
  telemetry  what telemetry costs; to a server that throws it away, or to --collector (OTLP over gRPC)
  intake     turns a second that a coordinator takes from encoded batches
  growth     the memory of a coordinator over 10,000,000 such turns, about 10 minutes; only with --only
  memory     the memory of a worker and a coordinator that play the mock for 15 minutes (--minutes); only with --only

Needs python3, taskset, two cores, and 20,000 open files, and to build gabfest what `cargo xtask dist` needs."""
import argparse, bisect, datetime, json, os, pathlib, platform, resource, shutil, statistics, subprocess, sys, tempfile, time, urllib.request

import table
from fleet import Fleet, memory_mib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONG = ("growth", "memory")
PARTS = ("cpu", "streams", "paced", "wide", "crowd", "rates", "freeze", "start", "telemetry", "intake", *LONG)


def scenario(name, turns):
    return f"name: {name}\ndescription: a scripted conversation\nrun:\n" + "".join(
        f"  - input: Please say hello to me, this is message {turn} about order 1234.\n"
        f"    evaluations: [{{ type: string_contains, value: 'turn={turn}' }}]\n"
        for turn in range(1, turns + 1)
    ) + "judgment: { strategy: all_pass }\n"


def stop(message):
    print(message, file=sys.stderr)
    sys.exit(1)


def per(samples):
    """The median of the slopes between all pairs of samples (x, y) after the first quarter, in which caches fill."""
    warm = samples[len(samples) // 4 :]
    return statistics.median((y2 - y1) / (x2 - x1) for at, (x1, y1) in enumerate(warm) for x2, y2 in warm[at + 1 :])


def share(values, percent):
    values = sorted(values)
    return values[max(-(-len(values) * percent // 100) - 1, 0)]


class Server:
    """bench-server on core 0."""

    def __init__(self, program, ahead):
        self.process = subprocess.Popen(
            [*ahead, "taskset", "-c", "0", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().strip()

    def url(self, pace):
        return f"{self.address}/{pace}/v1"

    def stats(self):
        """What was served since the last call."""
        return self.get("stats")

    def get(self, path):
        return json.load(urllib.request.urlopen(f"{self.address}/{path}"))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ended:
    """A program that ran on core 1: its CPU in seconds, its peak memory in KiB, its output and exit code, and when it began and ended."""

    def __init__(self, command, ahead=(), variables=None):
        environment = {**os.environ, **(variables or {})}
        self.began = time.time()
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen([*ahead, "taskset", "-c", "1", *map(str, command)], stdout=out, stderr=errors, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            self.over = time.time()
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0), errors.seek(0)
            self.out, errors = out.read(), errors.read()
        # 3: gabfest is not sure of its own verdict, because the machine is busy.
        if process.returncode not in (0, 3):
            stop(f"{' '.join(map(str, command))} exited with {process.returncode}:\n{errors[-2000:]}")
        self.code = process.returncode
        self.cpu = usage.ru_utime + usage.ru_stime
        self.kib = usage.ru_maxrss


class Core:
    """Watches core 1 for some seconds: when arithmetic that takes 10 µs took much longer."""

    # A look finds the core slow if it took so many times the usual.
    SLOW = 8
    # For so long after such a look, starts may wait behind others that it delayed.
    AFTER_MICROS = 40_000

    def __init__(self, floor, seconds):
        command = ["chrt", "--rr", "1", "taskset", "-c", "1", floor, "core", str(seconds)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def figures(self, came, late):
        """Of starts that came at these times, late by these microseconds."""
        looks, _ = self.process.communicate()
        if self.process.returncode:
            stop("--watch-core needs chrt, and the right to use real-time priorities (root)")
        times = json.loads(looks)["micros"]
        usual = statistics.median(took for _, took in times)
        times = [(at, took) for at, took in times if came[0] <= at <= came[-1]]
        slow = [at for at, took in times if took > self.SLOW * usual]

        def is_disturbed(at):
            first = bisect.bisect_left(slow, at - self.AFTER_MICROS)
            return first < len(slow) and slow[first] <= at

        steady = [micros for at, micros in zip(came, late) if not is_disturbed(at)]
        behind = [at for at, micros in zip(came, late) if micros > 1_000]
        figures = {
            "looks at the core that found it slow, %": len(slow) / max(len(times), 1) * 100,
            "of starts late by more than 1 ms, near these, %": sum(map(is_disturbed, behind)) / max(len(behind), 1) * 100,
            "other starts, %": len(steady) / len(late) * 100,
        }
        return figures | {f"other starts, late at the server, p{percent}, µs": share(steady, percent) for percent in (50, 99)}


class Bench:
    def __init__(self, binaries, programs, folder, collector, minutes, ahead, watches_core=False):
        self.binaries, self.floor, self.server_program, self.intake_program = binaries, *programs
        self.folder, self.collector, self.minutes, self.ahead = folder, collector, minutes, ahead
        self.watches_core = watches_core
        self.server = Server(self.server_program, ahead)
        for turns in (1, 4, 10):
            (folder / f"{turns}.scenario.yaml").write_text(scenario(f"turns {turns}", turns))
        self.cells = {}

    def close(self):
        self.server.close()

    def programs(self):
        return ["hyper", "reqwest", *self.binaries]

    def settings(self, server, pace, stream=False):
        return (
            f"endpoints: {{ bench: {{ url: '{server.url(pace)}', model: bench, stream: {str(stream).lower()} }} }}\n"
            "agents: { bench: { endpoint: bench } }\nroles: { agent: bench }\n"
        )

    def run(self, program, pace, turns, *flags, stream=False, variables=None):
        """Plays with gabfest. Returns how it ended, its report, and the server's figures."""
        self.server.stats()
        settings, out = self.folder / "gabfest.yaml", self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        settings.write_text(self.settings(self.server, pace, stream))
        command = [self.binaries[program], "run", self.folder / f"{turns}.scenario.yaml", "--config", settings, *flags]
        ended = Ended([*command, "--quiet", "--out", out], self.ahead, variables)
        report = json.loads((out / "report.json").read_text())
        trials = report["summary"]["trials"]
        if trials["pass"] != trials["planned"]:
            stop(f"{program}: not all conversations passed: {trials}")
        if ended.code:
            print(f"{program}: {report['load']['invalid'] if 'load' in report else report['verdict']}", file=sys.stderr)
        return ended, report, self.server.stats()

    def play(self, program, pace, conversations, at_once, stream, variables=None):
        """Plays the conversations with gabfest or a loop. Returns how it ended, its figures, and the server's."""
        if program not in self.binaries:
            self.server.stats()
            url = f"{self.server.url(pace)}/chat/completions"
            ended = Ended([self.floor, program, url, conversations, at_once] + (["stream"] if stream else []), self.ahead)
            return ended, json.loads(ended.out), self.server.stats()
        flags = ["--repeats", conversations, "--slots", at_once]
        ended, report, truth = self.run(program, pace, 4, *flags, stream=stream, variables=variables)
        latency = report["summary"]["latency"]
        figures = {
            "whole_ms": {"p50": latency["turn"]["p50_ms"], "p99": latency["turn"]["p99_ms"]},
            "first_token_ms": {"p50": latency.get("ttft", {}).get("p50_ms"), "p99": latency.get("ttft", {}).get("p99_ms")},
        }
        return ended, figures, truth

    def note(self, case, program, figures):
        for name, value in figures.items():
            self.cells.setdefault((case, name), {}).setdefault(program, []).append(value)

    def cpu(self, case, pace, conversations, at_once, stream):
        for program in self.programs():
            ended, ours, truth = self.play(program, pace, conversations, at_once, stream)
            self.note(case, program, {"µs of CPU a turn": ended.cpu / conversations / 4 * 1e6})
            if pace == "paced":
                errors = {f"TTFT error, {at}, ms": ours["first_token_ms"][at] - truth["first_token_ms"][at] for at in ("p50", "p99")}
                self.note(case, program, errors)

    def wide(self):
        for program in self.programs():
            ended, ours, truth = self.play(program, "slow", 10_000, 10_000, False)
            errors = {f"error of {at}, %": (ours["whole_ms"][at] / truth["whole_ms"][at] - 1) * 100 for at in ("p50", "p99")}
            figures = {"KiB a conversation": ended.kib / 10_000, **errors}
            if program in self.binaries:
                figures["s from the last answer to the end"] = ended.over - truth["last_answer_micros"] / 1e6
            self.note("10,000 at once, 2 s server", program, figures)

    def crowd(self, conversations=30_000, workers=3):
        """Each worker has a server of its own: no process may open so many files."""
        for program in self.binaries:
            place = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
            servers = [Server(self.server_program, self.ahead) for _ in range(workers)]
            fleet, at_once, mib = Fleet(place, self.binaries[program], core=1), 0, {}
            try:
                fleet.coordinator()
                for number, server in enumerate(servers):
                    (place / f"{number}.yaml").write_text(self.settings(server, "slowest"))
                    fleet.worker(f"worker-{number}", conversations // workers, "--config", f"{number}.yaml")
                fleet.wait_for_workers(workers)
                watcher = fleet.submit(self.folder / "4.scenario.yaml", "--config", "0.yaml", "--repeats", conversations)
                while watcher.poll() is None:
                    time.sleep(0.5)
                    fleet.check()
                    at_once = max(at_once, sum(server.get("open") for server in servers))
                    for name, process in fleet.processes.items():
                        mib[name] = max(mib.get(name, 0), memory_mib(process) or 0)
            finally:
                fleet.end()
                for server in servers:
                    server.close()
            if watcher.returncode:
                stop(f"{program}: exit code {watcher.returncode}: {(place / 'watcher.log').read_text()}")
            summary = json.loads((place / "out" / "report.json").read_text())["summary"]
            of_workers = sum(size for name, size in mib.items() if name.startswith("worker"))
            figures = {
                "not completed": conversations - summary["trials"]["pass"],
                "lost attempts": summary["attempts"]["lost"],
                "requests at once": at_once,
                "KiB a conversation, workers": of_workers * 1024 / conversations,
                "KiB a conversation, coordinator": mib["coordinator"] * 1024 / conversations,
            }
            self.note("30,000 over three workers", program, figures)
            shutil.rmtree(place)

    def rates(self, seconds=10):
        """The server's figure counts from its earliest request, and has its own lateness and the way to it. Just before, a bare
        loop shows how late this machine lets a start be."""
        for program in self.binaries:
            for rate in (500, 2_000):
                bare = Ended([self.floor, "timer", f"{self.server.url('zero')}/chat/completions", rate, seconds], self.ahead)
                self.server.stats()
                bare = json.loads(bare.out)["late_ms"]
                watch = Core(self.floor, seconds + 3) if self.watches_core else None
                flags = ["--rate", f"{rate}/s", "--duration", f"{seconds}s", "--slots", 1_000, "--no-preflight"]
                _, report, truth = self.run(program, "zero", 1, *flags)
                load, came = report["load"], sorted(truth["requests_micros"])
                if not load["scheduled"] == load["sent"] == len(came) == rate * seconds:
                    stop(f"{program}: of {load['scheduled']} starts {load['sent']} were sent, and {len(came)} came")
                late = [at - number * 1e6 / rate for number, at in enumerate(came)]
                figures = {f"late, p{percent}, µs": load["late"][f"p{percent}_ms"] * 1e3 for percent in (50, 99)}
                figures |= {f"a bare loop, late, p{percent}, µs": bare[f"p{percent}"] * 1e3 for percent in (50, 99)}
                for percent in (50, 99):
                    figures[f"late at the server, p{percent}, µs"] = share(late, percent) - min(late)
                if watch:
                    figures |= watch.figures(came, [at - min(late) for at in late])
                self.note(f"{rate:,} starts/s", program, figures)

    def freeze(self, rate=200, seconds=10, truth_seconds=1.90):
        """A fifth of the starts waits for 0 to 2 s, so the slowest 1 % waits for more than 1.90 s."""
        for program in self.binaries:
            flags = ["--rate", f"{rate}/s", "--duration", f"{seconds}s", "--slots", 1_000, "--no-preflight"]
            _, report, truth = self.run(program, "stall", 1, *flags)
            p99 = report["summary"]["latency"]["response"]["p99_ms"] / 1e3
            figures = {
                "response p99 less 1.90 s, %": (p99 / truth_seconds - 1) * 100,
                "scheduled and not sent": report["load"]["scheduled"] - report["load"]["sent"],
                "of 2,000, not come": rate * seconds - truth["answers"],
            }
            self.note("2 s stall, 200 starts/s", program, figures)

    def start(self):
        for program in self.binaries:
            ended, _, truth = self.play(program, "zero", 10_000, 50, False)
            first = min(truth["requests_micros"])
            self.note("plan of 10,000", program, {"ms to the first request": first / 1e3 - ended.began * 1e3})

    def telemetry(self):
        """The same conversations without telemetry, with what is on by default, and with all traces."""
        sink = None if self.collector else Server(self.server_program, self.ahead)
        endpoint, protocol = (self.collector, "grpc") if self.collector else (f"{sink.address}/otlp", "http/protobuf")
        on = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
        ways = {"off": {"OTEL_SDK_DISABLED": "true"}, "on": on, "all traces": {**on, "OTEL_TRACES_SAMPLER": "always_on"}}
        for program in self.binaries:
            spent = {way: self.play(program, "zero", 10_000, 50, False, variables)[0].cpu for way, variables in ways.items()}
            self.note("telemetry", program, {f"{way}, % more CPU": (spent[way] / spent["off"] - 1) * 100 for way in ("on", "all traces")})
        if sink:
            sink.close()

    def intake(self):
        """Of this repository, and not of --binary."""
        for store, turns in (("memory", 400_000), ("sqlite", 200_000)):
            found = json.loads(Ended([self.intake_program, store, turns]).out)
            figures = {"turns a second of CPU": found["turns_per_cpu_second"], "turns a second, with the feeder": found["turns_per_second"]}
            self.note(f"intake, {store}", next(iter(self.binaries)), figures)

    def growth(self):
        found = json.loads(Ended([self.intake_program, "sqlite", 10_000_000, "failures"]).out)
        figures = {
            "coordinator, B a turn": found["memory_growth_bytes_per_turn"],
            "coordinator and feeder at the end, MiB": found["memory_bytes"] / 2**20,
            "turns a second of CPU": found["turns_per_cpu_second"],
        }
        self.note("10,000,000 encoded turns", next(iter(self.binaries)), figures)

    def memory(self):
        """The mock plays in the worker. Only memory that is not a file's counts."""
        for program in self.binaries:
            place = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
            (place / "gabfest.yaml").write_text(
                "endpoints: { mock: { kind: mock } }\nagents: { mock: { endpoint: mock } }\nroles: { agent: mock }\n"
                f"transcripts: failures\nload: {{ flat: {{ slots: 64, duration: {self.minutes * 60:.0f}s }} }}\n"
            )
            (place / "10.scenario.yaml").write_text(scenario("turns 10", 10).replace("turn=", ""))
            fleet, samples, began = Fleet(place, self.binaries[program]), {"worker": [], "coordinator": []}, time.monotonic()
            try:
                fleet.coordinator()
                fleet.worker("worker", 64)
                watcher = fleet.submit("10.scenario.yaml", "--pace", "flat")
                while watcher.poll() is None:
                    time.sleep(2)
                    fleet.check()
                    if time.monotonic() - began < self.minutes * 60:
                        for name, of in samples.items():
                            of.append((time.monotonic() - began, memory_mib(fleet.processes[name], "RssAnon") * 2**20))
            finally:
                fleet.end()
            summary = json.loads((place / "out" / "report.json").read_text())["summary"]
            turns_a_second = summary["turns"] / (self.minutes * 60)
            figures = {f"{name}, B a turn": per(of) / turns_a_second for name, of in samples.items()}
            figures |= {f"{name} at the end, MiB": of[-1][1] / 2**20 for name, of in samples.items()}
            self.note("played turns of the mock", program, {"million turns": summary["turns"] / 1e6, **figures})
            shutil.rmtree(place)

    def round(self, parts):
        if "cpu" in parts:
            for at_once in (50, 200):
                self.cpu(f"JSON, {at_once} at once", "zero", 10_000, at_once, False)
        if "streams" in parts:
            self.cpu("stream of 16 pieces, 50 at once", "zero", 10_000, 50, True)
        if "paced" in parts:
            # Forty seconds: the start and the end of a run weigh no more than in the other cases.
            self.cpu("paced stream, 32 at once", "paced", 2_560, 32, True)
        for part in ("wide", "crowd", "rates", "freeze", "start", "telemetry", "intake", *LONG):
            if part in parts:
                getattr(self, part)()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--only")
    arguments.add_argument("--binary", action="append", default=[])
    arguments.add_argument("--collector")
    arguments.add_argument("--minutes", type=float, default=15)
    arguments.add_argument("--real-time", action="store_true")
    arguments.add_argument("--watch-core", action="store_true")
    arguments.add_argument("--save")
    given = arguments.parse_args()
    parts = given.only.split(",") if given.only else [part for part in PARTS if part not in LONG]
    if unknown := set(parts) - set(PARTS):
        stop(f"unknown part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if len(os.sched_getaffinity(0)) < 2:
        stop("the server and the measured program need a core each")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "dist"
    if not given.binary:
        subprocess.run(["cargo", "xtask", "dist", "--out", target], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    # By itself: with gabfest in one command, gabfest would get the features of these loops.
    subprocess.run(["cargo", "build", "--profile", "dist", "--quiet", "-p", "gabfest-bench"], cwd=ROOT, check=True)
    binaries = {pathlib.Path(path).name: pathlib.Path(path).resolve() for path in given.binary} or {"gabfest": target / "gabfest"}
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    ahead = ["chrt", "--rr", "1"] if given.real_time else []
    programs = [target / name for name in ("floor", "bench-server", "intake")]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GABFEST_HISTORY"] = f"{folder}/history.db"
        bench = Bench(binaries, programs, pathlib.Path(folder), given.collector, given.minutes, ahead, given.watch_core)
        try:
            for number in range(given.rounds):
                print(f"round {number + 1} of {given.rounds}", file=sys.stderr)
                bench.round(parts)
        finally:
            bench.close()
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    lines = [
        f"# The bench, {datetime.date.today()}\n",
        f"`bench/run.py --rounds {given.rounds} --only {','.join(parts)}{' --real-time' * given.real_time}{' --watch-core' * given.watch_core}` at {commit}, {platform.system()} {platform.release()}, {os.cpu_count()} cores, load {load}.",
        "Median (least to greatest) of the rounds.\n",
        *table.lines(bench.programs(), binaries, bench.cells),
    ]
    print("\n".join(lines))
    if given.save:
        pathlib.Path(given.save).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
