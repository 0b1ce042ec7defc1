"""`python -m tests.systems.hasty_server WORDS`: a command with limits that a test can wait for."""

from recall_bench.cli.main import main
from recall_bench.systems.servers import guarded_protocol, request_guard

if __name__ == "__main__":
    guarded_protocol.HEAD_TIMEOUT_S = 0.5
    guarded_protocol.MAX_CONNECTIONS = 8
    request_guard.BODY_PAUSE_S = 0.5
    main()
