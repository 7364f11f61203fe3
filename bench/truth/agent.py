#!/usr/bin/env python3
"""A chat agent with known faults that logs what it does: the ground truth for bench/truth/check.py.

An OpenAI-compatible server on 127.0.0.1. Each request is one line of JSON in the log: when it came, its status, the
conversation's id, the turn, the tokens and how long it took. Standard library only.

  agent.py LOG [--port N] [--wrong 0.2] [--down 0.03] [--rate 30] [--burst 10] [--retry-after 1] [--median-ms 40]
           [--sigma 0.6] [--seed 1] [--usage]

It prints its port on the first line. SIGTERM ends it.
"""

import argparse
import hashlib
import http.server
import json
import math
import random
import threading
import time


class Truth:
    """The decisions for each request, and their log."""

    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.log = open(options.log, "a", buffering=1, encoding="utf-8")
        self.tokens = float(options.burst)
        self.refilled = time.monotonic()
        self.born = time.monotonic()

    def may_pass(self):
        """A token bucket: false means 429."""
        if self.options.rate <= 0:
            return True
        with self.lock:
            now = time.monotonic()
            self.tokens = min(self.options.burst, self.tokens + (now - self.refilled) * self.options.rate)
            self.refilled = now
            if self.tokens < 1:
                return False
            self.tokens -= 1
            return True

    def draw(self, conversation, turn):
        """Chances that belong to a turn of a conversation: the same for every try of it."""
        key = f"{self.options.seed}/{conversation}/{turn}".encode()
        return random.Random(hashlib.sha256(key).digest())

    def write(self, entry):
        with self.lock:
            self.log.write(json.dumps(entry) + "\n")


def tokens(text):
    return max(1, len(text) // 4)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A reply in two packets would wait for an acknowledgement between them.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_POST(self):
        truth, options = self.server.truth, self.server.truth.options
        came = time.monotonic()
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        conversation = self.headers.get("x-gabfest-conversation", "")
        turn = int(self.headers.get("x-gabfest-turn", 0))
        entry = {
            "at": round(came - truth.born, 6),
            "conversation": conversation,
            "turn": turn,
            "messages": len(body.get("messages", [])),
            "said": body["messages"][-1]["content"] if body.get("messages") else "",
        }
        if not truth.may_pass():
            after = str(options.retry_after)
            self.answer(429, {"error": {"message": "too many requests", "type": "rate_limit"}}, {"retry-after": after})
            return truth.write({**entry, "status": 429, "took_ms": (time.monotonic() - came) * 1e3})
        chance = truth.draw(conversation, turn)
        down, wrong, slow = chance.random(), chance.random(), chance.gauss(0.0, 1.0)
        if down < options.down / 2:
            self.answer(500, {"error": {"message": "the agent fell over"}})
            return truth.write({**entry, "status": 500, "took_ms": (time.monotonic() - came) * 1e3})
        if down < options.down:
            # No answer, and the connection is closed.
            self.close_connection = True
            return truth.write({**entry, "status": 0, "took_ms": (time.monotonic() - came) * 1e3})
        time.sleep(options.median_ms / 1e3 * math.exp(options.sigma * slow))
        asked = entry["said"]
        is_wrong = wrong < options.wrong
        text = "I do not know." if is_wrong else f"The answer to {asked!r} is 42."
        used = {"prompt_tokens": sum(tokens(m.get("content") or "") for m in body["messages"]), "completion_tokens": tokens(text)}
        reply = {
            "id": "x",
            "object": "chat.completion",
            "model": options.model,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        }
        if options.usage:
            reply["usage"] = {**used, "total_tokens": sum(used.values())}
        self.answer(200, reply)
        truth.write({**entry, **used, "status": 200, "wrong": is_wrong, "took_ms": (time.monotonic() - came) * 1e3})

    def answer(self, status, value, headers=()):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, text in dict(headers).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--wrong", type=float, default=0.2, help="share of turns that are answered wrongly")
    parser.add_argument("--down", type=float, default=0.03, help="share of turns that get a 500 or a closed connection")
    parser.add_argument("--rate", type=float, default=30.0, help="requests a second beyond which there is a 429; 0: none")
    parser.add_argument("--burst", type=float, default=10.0)
    parser.add_argument("--retry-after", type=float, default=1)
    parser.add_argument("--median-ms", type=float, default=40.0, help="median of the log-normal latency")
    parser.add_argument("--sigma", type=float, default=0.6)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--model", default="truth-1")
    parser.add_argument("--usage", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    server = Server(("127.0.0.1", options.port), Handler)
    server.truth = Truth(options)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
