"""Write a gabfest check as a Python function (docs/custom-checks.md). Needs Python 3.9 or later and nothing else.

    from gabfest_check import check

    @check
    def short(transcript, config):
        longest = max(len(turn["agent"] or "") for turn in transcript["turns"])
        return longest <= config["max"], f"the longest reply has {longest} characters"

    if __name__ == "__main__":
        short.run()

`python short.py` answers line by line, for `command` in gabfest.yaml. `python short.py --http 8080` serves HTTP, for `url`.
"""

from __future__ import annotations

import argparse
import contextlib
import hmac
import json
import os
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Optional, Union

PROTOCOL = "check/1"
SCHEMA = "gabfest.transcript/1"
MOST_BYTES = 8 << 20
KEYS = {"pass", "score", "reason", "not_applicable", "evidence", "findings"}

Answer = Union[bool, None, float, tuple, dict]


def check(function: Callable[[dict, Any], Answer]) -> "Check":
    """Makes a check of a function of the transcript and the scenario's `config`.

    It returns True or False, None (it cannot tell), a score from 0 to 1, (True or False, reason), or the whole answer as a
    dict: {"pass", "score", "reason", "not_applicable", "evidence", "findings"}.
    """
    return Check(function)


class Check:
    def __init__(self, function: Callable[[dict, Any], Answer]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __call__(self, transcript: dict, config: Any = None) -> dict:
        """The answer as gabfest reads it. Use it in your own tests."""
        return complete(self.function(transcript, config))

    def answer(self, transcript: dict) -> dict:
        if transcript.get("schema") != SCHEMA:
            raise ValueError(f"expected the schema {SCHEMA}, found {transcript.get('schema')}")
        return self(transcript, transcript.get("config"))

    def run(self, arguments: Optional[list] = None) -> None:
        """Answers gabfest until it is done: over stdin and stdout, or over HTTP with `--http PORT`."""
        parser = argparse.ArgumentParser(description=self.__doc__)
        parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP on this port; 0 takes a free one")
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
        parser.add_argument("--key", metavar="VARIABLE", help="the environment variable with the bearer token to require")
        options = parser.parse_args(arguments)
        if options.http is None:
            self.serve_lines()
        else:
            self.serve_http(options.host, options.http, os.environ[options.key] if options.key else None)

    def serve_lines(self) -> None:
        lines, stdin = sys.stdout, sys.stdin
        lines.reconfigure(encoding="utf-8")
        stdin.reconfigure(encoding="utf-8")

        def write(value: dict) -> None:
            lines.write(json.dumps(value, ensure_ascii=False) + "\n")
            lines.flush()

        # The function's own output must not mix with the answers.
        with contextlib.redirect_stdout(sys.stderr):
            write({"gabfest": PROTOCOL})
            for line in stdin:
                asked = json.loads(line)
                try:
                    write({"id": asked["id"], "result": self.answer(asked["transcript"])})
                except Exception:  # the process goes on, and gabfest reports the error
                    write({"id": asked["id"], "error": traceback.format_exc(limit=-3)})

    def serve_http(self, host: str, port: int, key: Optional[str]) -> None:
        this = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                if key is not None and not hmac.compare_digest(
                    self.headers.get("Authorization", "").encode(), f"Bearer {key}".encode()
                ):
                    return self.reply(401, {"error": "the bearer token is missing or wrong"})
                size = int(self.headers.get("Content-Length", "0"))
                if size > MOST_BYTES:
                    return self.reply(413, {"error": f"more than {MOST_BYTES} bytes"})
                try:
                    return self.reply(200, this.answer(json.loads(self.rfile.read(size))))
                except Exception:
                    return self.reply(500, {"error": traceback.format_exc(limit=-3)})

            def reply(self, status: int, value: dict) -> None:
                body = json.dumps(value, ensure_ascii=False).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        with ThreadingHTTPServer((host, port), Handler) as server:
            print(f"listening on http://{host}:{server.server_address[1]}/", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                server.serve_forever()


def complete(answer: Answer) -> dict:
    """Converts the return value of a function to an answer for gabfest."""
    if answer is None or isinstance(answer, bool):
        return {"pass": answer}
    if isinstance(answer, (int, float)):
        return {"score": float(answer)}
    if isinstance(answer, tuple) and len(answer) == 2:
        decision, reason = answer
        return {**complete(decision), "reason": str(reason)}
    if isinstance(answer, dict):
        unknown = set(answer) - KEYS
        if unknown:
            raise ValueError(f"unknown keys {sorted(unknown)}; known are {sorted(KEYS)}")
        return answer
    raise TypeError(f"a check returns a bool, None, a score, a tuple or a dict, not {type(answer).__name__}")
