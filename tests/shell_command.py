"""`recall-bench` for shell scripts: a program that starts fast and lets a warm process work."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import compare_digest, token_hex
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

from tests.warm_commands import start_command

_TOKEN = token_hex(16)
"""Known to the programs alone: other users of the machine can reach the port as well."""

_CLIENT = """\
import json, os, socket, sys
with socket.create_connection(("127.0.0.1", {port})) as server:
    request = json.dumps(["{token}", sys.argv[1:], os.getcwd(), dict(os.environ)])
    server.sendall(request.encode() + b"\\n")
    code, *printed = json.loads(server.makefile().read())
for stream, text in zip((sys.stdout, sys.stderr), printed):
    stream.write(text)
sys.exit(code)
"""


class _Request(StreamRequestHandler):
    def handle(self) -> None:
        token, words, folder, environ = json.loads(self.rfile.readline())
        if not compare_digest(token, _TOKEN):
            return
        command = start_command(words, cwd=Path(folder), environ=environ)
        out, err = (printed.decode() for printed in command.communicate())
        self.wfile.write(json.dumps([command.returncode, out, err]).encode())


@contextmanager
def write_command(path: Path) -> Iterator[None]:
    """Write a program that is `recall-bench` within the block, except that it reads no input."""
    with ThreadingTCPServer(("127.0.0.1", 0), _Request) as server:
        client = path.with_suffix(".py")
        client.touch(mode=0o600)
        client.write_text(_CLIENT.format(port=server.server_address[1], token=_TOKEN))
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{client}" "$@"\n')
        path.chmod(0o755)
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield
        server.shutdown()
