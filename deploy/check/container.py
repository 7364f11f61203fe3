"""A container without a container engine: a read-only image, user nobody, and only the requested mounts."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess

from image import Image


@dataclasses.dataclass
class Container:
    """The settings of a container in compose.yaml or a manifest."""

    name: str
    address: str
    command: list[str]
    environment: dict[str, str]
    # (folder or file of this machine, path inside, whether it is writable)
    mounts: list[tuple[pathlib.Path, str, bool]]
    tmpfs: list[str]
    log: pathlib.Path
    process: subprocess.Popen | None = None
    first_pid: int = 0

    def start(self, sandbox: list[str]) -> None:
        """Starts the command as process 1 of its container."""
        read, write = os.pipe()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["bwrap", "--info-fd", str(write), *sandbox, *self.inside(), *self.command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[write], **nobody(),
            )
        os.close(write)
        with os.fdopen(read) as info:
            self.first_pid = json.load(info)["child-pid"]

    def run(self, sandbox: list[str], command: list[str], seconds: float) -> subprocess.CompletedProcess:
        """Runs another command in a container like this one and waits for it."""
        return subprocess.run(
            ["bwrap", *sandbox, *self.inside(), *command],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, **nobody(),
        )

    def stop(self, seconds: float) -> int:
        """Sends SIGTERM to process 1, like an engine, and returns its exit code. A timeout is an error; an engine would kill."""
        os.kill(self.first_pid, signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def inside(self) -> list[str]:
        # Engines set this host name, and gabfest uses it as the worker's name.
        hostname = self.log.with_suffix(".hostname")
        hostname.write_text(f"{self.name}\n")
        words = ["--ro-bind", str(hostname), "/etc/hostname"]
        for source, target, writable in self.mounts:
            words += ["--bind" if writable else "--ro-bind", str(source), target]
        for target in self.tmpfs:
            words += ["--perms", "1777", "--tmpfs", target]
        words += ["--remount-ro", "/", "--clearenv"]
        for name, value in self.environment.items():
            words += ["--setenv", name, value]
        return words


def of_image(image: Image, etc: pathlib.Path) -> list[str]:
    """A sandbox whose root is the image: read-only, without capabilities, with its own processes."""
    user, group = image.user.split(":")
    words = isolated(user, group)
    for file in image.files():
        path = image.tree / file.lstrip("/")
        words += ["--dir", file] if path.is_dir() else ["--ro-bind", str(path), file]
    return [*words, *names(etc), "--chdir", image.workdir]


def of_machine(etc: pathlib.Path) -> list[str]:
    """A sandbox for third-party servers without images: the programs of this machine, but none of its files."""
    words = isolated("65534", "65534")
    words += ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "lib", "lib64"):
        if pathlib.Path("/" + name).is_symlink():
            words += ["--symlink", f"usr/{name}", f"/{name}"]
        elif pathlib.Path("/" + name).exists():
            words += ["--ro-bind", f"/{name}", f"/{name}"]
    return [*words, *names(etc)]


def isolated(user: str, group: str) -> list[str]:
    return [
        "--unshare-user", "--uid", user, "--gid", group, "--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts",
        "--cap-drop", "ALL", "--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev",
    ]


def names(etc: pathlib.Path) -> list[str]:
    """The name resolution files that an engine puts into every container."""
    return [word for file in ("resolv.conf", "hosts") for word in ("--ro-bind", str(etc / file), f"/etc/{file}")]


def nobody() -> dict:
    """The user that starts the sandbox. Not root, so that folders must really belong to the image's user."""
    return {"user": 65532, "group": 65532, "extra_groups": []} if is_root() else {}


def is_root() -> bool:
    """Whether this process can change its user; root of a namespace with one user cannot."""
    users = pathlib.Path("/proc/self/uid_map").read_text().split()
    return os.geteuid() == 0 and int(users[2]) > 65532


def own(folder: pathlib.Path) -> pathlib.Path:
    """A new volume, owned by the image's user, as an engine creates it."""
    folder.mkdir(parents=True)
    if is_root():
        os.chown(folder, 65532, 65532)
    return folder
