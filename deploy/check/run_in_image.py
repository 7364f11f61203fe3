"""Plays scenarios in the image: exactly the files that the Dockerfile copies, as its user, and only volumes can be written.

    run_in_image.py BINARY PLACE    inside a network of its own

First the shipped scenarios with the built-in mock. Then an agent behind TLS, which the certificates of the image must vouch for.
"""

import http.server
import json
import pathlib
import shutil
import ssl
import subprocess
import sys
import threading

import stage
from container import Container, of_image, own
from stage import DEPLOY

CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
HELLO = """name: Hello
description: The agent says what it always says.
run:
  - input: Hello
    evaluations: [{ type: string_contains, value: at your service }]
judgment: { strategy: all_pass }
"""


def main(binary: pathlib.Path, place: pathlib.Path) -> None:
    image, etc = stage.image(binary, place), stage.etc(place, "agent.test")
    print(f"the image: user {image.user}, files {', '.join(image.files())}")
    shutil.copytree(DEPLOY.parent / "scenarios", place / "scenarios")
    (place / "hello").mkdir()
    (place / "hello/hello.scenario.yaml").write_text(HELLO)
    volume = own(place / "volume")
    mounts = [
        (place / "scenarios", "/scenarios", False), (place / "hello", "/hello", False), (volume, image.workdir, True),
    ]
    container = Container("run", "127.0.0.1", [], {}, mounts, ["/tmp"], place / "run.log")
    gabfest = lambda *words: container.run(of_image(image, etc), [*image.entrypoint, *words], 300)

    played = gabfest("run", "/scenarios", "--out", "out")
    if played.returncode != 0:
        sys.exit(f"the run ended with {played.returncode}\n{played.stdout[-2000:]}\n{played.stderr[-2000:]}")
    trials = json.loads((volume / "out/report.json").read_text())["summary"]["trials"]
    print(f"the run: {trials['pass']} of {trials['planned']} trials passed")
    if not trials["pass"]:
        sys.exit("nothing passed")
    if gabfest("init", "/etc/gabfest").returncode == 0:
        sys.exit("the image could be written to")

    address = serve_tls(place)
    hello = lambda out: gabfest("run", "/hello", "--agent", address, "--out", out)
    untrusted = hello("untrusted")
    if untrusted.returncode == 0 or "certificate" not in untrusted.stdout:
        sys.exit(f"an agent whose certificate nobody vouches for was spoken to\n{untrusted.stdout[-2000:]}\n{untrusted.stderr[-2000:]}")
    with (image.tree / CERTIFICATES).open("a") as known:
        known.write((place / "tls.crt").read_text())
    trusted = hello("trusted")
    if trusted.returncode != 0:
        sys.exit(f"an agent behind TLS was not reached\n{trusted.stdout[-2000:]}\n{trusted.stderr[-2000:]}")
    print("TLS: only an agent that the image's certificates vouch for is spoken to")


def serve_tls(place: pathlib.Path) -> str:
    """An agent with a constant answer and a self-signed certificate."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=agent.test", "-addext", "subjectAltName=DNS:agent.test", "-addext", "basicConstraints=critical,CA:FALSE",
         "-keyout", place / "tls.key", "-out", place / "tls.crt"],
        check=True, capture_output=True,
    )
    server = Server(("127.0.0.1", 0), Agent)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "tls.crt", place / "tls.key")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"https://agent.test:{server.server_port}/v1"


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_) -> None:
        """Clients that do not trust the certificate disconnect."""


class Agent(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "at your service"}
        body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


if __name__ == "__main__":
    stage.begin(main)
