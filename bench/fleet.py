"""Processes of gabfest that belong together: a coordinator, its workers, and the clients that submit runs."""
import os, pathlib, socket, subprocess, sys, time


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def memory_mib(process, field="VmRSS"):
    """Resident memory; `RssAnon` leaves out mapped files. `None`: the process is over."""
    try:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return None
    line = next((line for line in status.splitlines() if line.startswith(f"{field}:")), None)
    return int(line.split()[1]) / 1024 if line else None


class Fleet:
    """Processes with logs in `place`; with `core`, all of them on that core."""

    def __init__(self, place, binary, core=None):
        self.place, self.binary, self.processes = place, binary, {}
        self.pinned = ["taskset", "-c", str(core)] if core is not None else []
        self.address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.address}"

    def start(self, name, *arguments):
        environment = {key: value for key, value in os.environ.items() if key != "GABFEST_COORDINATOR"}
        with open(self.place / f"{name}.log", "a") as log:
            process = subprocess.Popen(
                [*self.pinned, self.binary, *map(str, arguments)],
                cwd=self.place, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            )
        self.processes[name] = process
        return process

    def coordinator(self, name="coordinator"):
        self.start(name, "coordinator", "--listen", self.address, "--data", "data")
        self.wait_for(self.address)

    def worker(self, name, slots, *arguments):
        self.start(name, "worker", "--coordinator", self.url, "--name", name, "--slots", slots, *arguments)

    def submit(self, *arguments):
        return self.start("watcher", "submit", *arguments, "--coordinator", self.url, "--watch", "--out", "out", "--quiet")

    def wait_for(self, address):
        host, port = address.split(":")
        for _ in range(600):
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit(f"nothing listens at {address}; logs are in {self.place}")

    def wait_for_workers(self, count):
        for _ in range(600):
            shown = subprocess.run([self.binary, "workers", "--coordinator", self.url], capture_output=True, text=True)
            if sum(name in shown.stdout for name in self.processes if name.startswith("worker")) == count:
                return
            time.sleep(0.1)
        sys.exit(f"no {count} workers; logs are in {self.place}")

    def check(self):
        """Stops if a process is over that should play on."""
        for name, process in self.processes.items():
            if name != "watcher" and process.poll() is not None:
                sys.exit(f"{name} ended with {process.returncode}: {(self.place / f'{name}.log').read_text()}")

    def end(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
        for process in self.processes.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
