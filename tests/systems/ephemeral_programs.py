"""Small programs that a server for one run may turn out to be."""

import sys

SERVES = """
import json, os, pathlib, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/slow" and time.monotonic() < ready_at or self.path == "/never":
            return self.send_error(503)
        body = json.dumps({"cwd": os.getcwd(), "argv": sys.argv[2:], "env": dict(os.environ)})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body.encode())

ready_at = time.monotonic() + 0.3
print("listening soon", flush=True)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

SPAWNS = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if not child:
    time.sleep(600)
with open("pids.tmp", "w") as file:
    file.write(f"{os.getpid()} {child}")
os.rename("pids.tmp", "pids")
"""
"""Put before another program: it has a child, and neither heeds the request to end."""

DIES = "import sys; print('one'); print('two: no such model'); sys.exit(3)"
SLEEPS = "import time; print('loading', flush=True); time.sleep(600)"


def python(program: str, *words: str) -> list[str]:
    """The command that runs it."""
    return [sys.executable, "-c", program, *words]
