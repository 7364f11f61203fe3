"""A webhook of Slack that keeps what it gets."""

import http.server
import threading


class Webhook:
    def __init__(self, address: str):
        bodies: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["content-length"])).decode())
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"ok")

            def log_message(self, *_) -> None:
                pass

        self.bodies = bodies
        server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self.url = f"http://{address}:{server.server_port}/"
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def text(self) -> str:
        return "\n".join(self.bodies)
