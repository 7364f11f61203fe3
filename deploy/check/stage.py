"""Helpers for checks: a network, the image's files, the logs of a failed check, and polling."""

import contextlib
import fcntl
import pathlib
import socket
import struct
import subprocess
import sys
import time

import names
from image import Image

DEPLOY = pathlib.Path(__file__).parent.parent


def missing(what: str) -> None:
    """A missing program is an error; deploy/check.sh looks for most of them before."""
    sys.exit(f"NOT CHECKED: {what}")


def loopback_up() -> None:
    """A new network has a loopback device that is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        flags = struct.pack("16sh", b"lo", 0x1 | 0x8 | 0x40)
        fcntl.ioctl(control, 0x8914, flags + bytes(22))


def own_address(number: int, address: str) -> None:
    """Another address of the loopback device, in place of another machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        family = struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
        fcntl.ioctl(control, 0x8916, struct.pack("16s16s", f"lo:{number}".encode(), family))


def image(binary: pathlib.Path, place: pathlib.Path) -> Image:
    """The image's files, below the check's place."""
    (place / "tree").mkdir()
    return Image(DEPLOY / "Dockerfile", binary, place / "tree")


def etc(place: pathlib.Path, *hosts: str) -> pathlib.Path:
    """The files that an engine writes into containers. Names that are not in `hosts` come from the check's name server."""
    folder = place / "etc"
    folder.mkdir()
    (folder / "resolv.conf").write_text(f"nameserver {names.ADDRESS}\n")
    (folder / "hosts").write_text(f"127.0.0.1 {' '.join(['localhost', *hosts])}\n")
    return folder


@contextlib.contextmanager
def logs_told(place: pathlib.Path):
    """Shows the end of each log if the check fails."""
    try:
        yield
    except BaseException:
        for log in sorted(place.glob("*.log")):
            print(f"--- the end of {log.name}\n{log.read_text(errors='replace')[-1500:]}", file=sys.stderr)
        raise


def until(what: str, seconds: float, probe) -> object:
    """Polls until `probe` returns a true value, and returns it."""
    end = time.monotonic() + seconds
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > end:
            raise SystemExit(f"still waiting after {seconds:.0f} s: {what}")
        time.sleep(0.25)


def listens(address: str) -> bool:
    host, port = address.split(":")
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
    except OSError:
        return False
    return True


def in_charge(coordinators: list) -> object:
    """The container of the coordinator that schedules and writes: it has said so last, or it is the only one that listens."""
    serving = [one for one in coordinators if one.running() and listens(f"{one.address}:7400")]
    said = [one for one in serving if "in charge of the runs" in one.log.read_text().rsplit("relaying to", 1)[-1]]
    return (said or serving)[0]


def begin(check) -> None:
    """Runs a check with the binary and folder of its command line, in a separate network."""
    loopback_up()
    binary, place = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    with logs_told(place):
        check(binary, place)
