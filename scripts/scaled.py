"""`make scaled`: Postgres, Valkey, S3 and some workers on this machine, without Docker, until Ctrl-C.

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
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--workers", type=int, default=2)
    words.add_argument("--serve", action="store_true", help="the HTTP API too")
    asked = words.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        with LocalServers() as servers:
            run(servers, asked.workers, stop, with_api=asked.serve)
    except CannotStart as problem:
        print(f"cannot start: {problem}", file=sys.stderr)
        return 1
    return 0


def run(servers: LocalServers, workers: int, stop: threading.Event, *, with_api: bool) -> None:
    """Start the processes, say how to use them, and end them in order."""
    given = servers.environment()
    sitelore = Path(sys.executable).with_name("sitelore")
    commands = [[str(sitelore), "worker"]] * workers + ([[str(sitelore), "serve"]] if with_api else [])
    # A session of their own: Ctrl-C is for this process, which then ends them in order.
    processes = [subprocess.Popen(command, env={**os.environ, **given}, start_new_session=True) for command in commands]
    try:
        print("Everything is up. In another shell:\n")
        for name, value in given.items():
            print(f"  export {name}='{value}'")
        print("  sitelore doctor\n  sitelore crawl https://example.com --max-pages 50\n\nCtrl-C ends all of it.", flush=True)
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
