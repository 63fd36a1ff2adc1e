"""`make scaled`: runs Postgres, Valkey, S3 and workers on this machine, without Docker, until Ctrl-C.

python -m scripts.scaled [--workers 2] [--serve] [--keep DIR]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from scripts.servers import CannotStart, LocalServers

_DRAIN_S = 35


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--serve", action="store_true", help="run the HTTP API too")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="directory whose data is kept for the next start")
    arguments = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        with LocalServers(arguments.keep and arguments.keep.resolve()) as servers:
            run(servers, arguments.workers, stop, with_api=arguments.serve)
    except CannotStart as problem:
        print(f"cannot start: {problem}", file=sys.stderr)
        return 1
    return 0


def run(servers: LocalServers, workers: int, stop: threading.Event, *, with_api: bool) -> None:
    """Start the processes, print how to use them, and stop them gracefully."""
    variables = servers.environment()
    sitelore = Path(sys.executable).with_name("sitelore")
    commands = [[str(sitelore), "worker"]] * workers + ([[str(sitelore), "serve"]] if with_api else [])
    # They get their own session, so that Ctrl-C reaches only this process, which then stops them gracefully.
    processes = [subprocess.Popen(command, env={**os.environ, **variables}, start_new_session=True) for command in commands]
    try:
        print("All servers are running. In another shell:\n")
        for name, value in variables.items():
            print(f"  export {name}='{value}'")
        print("  sitelore doctor\n  sitelore crawl https://example.com --max-pages 50\n\nPress Ctrl-C to stop.", flush=True)
        stop.wait()
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(_DRAIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


if __name__ == "__main__":
    sys.exit(main())
