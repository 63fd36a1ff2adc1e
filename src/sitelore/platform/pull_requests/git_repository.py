"""Reads and writes a repository over HTTPS with `git`, through the address guard.

Git is used, and not the contents API of each host, because fixes need the text of every source file: one shallow fetch reads
them all, and one push writes one commit, in the same way for GitHub, GitLab and any other server. Pull requests themselves need
the APIs (`hosts.py`).

There is no work tree: files are read from and written to the object store, so links, hooks, filters and attributes of a
repository have no effect. Every connection goes through a `GuardProxy`. The token is in the environment of the git process
alone: not in its arguments, in the URL or in a configuration file. No configuration of the machine or of the user is read.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sitelore.fetch.access import RunAccess
from sitelore.fetch.browser.guard_proxy import GuardProxy
from sitelore.fetch.guard import AddressGuard
from sitelore.model.response import Failure
from sitelore.model.settings import FetchLimits
from sitelore.model.url import Url

MAX_FILES = 20_000
"""Source files of a repository."""
_MAX_REPOSITORY_BYTES = 2 << 30
_MAX_TEXT_BYTES = 256 << 20
_TIMEOUT_S = 300.0
_WATCH_S = 0.5
_LIMITS = FetchLimits(connect_s=15.0, headers_s=120.0, body_s=120.0, wire_bytes=_MAX_REPOSITORY_BYTES)
_BASE, _OURS = "refs/sitelore/base", "refs/sitelore/ours"
_NAME, _EMAIL = "Sitelore", "fixes@sitelore.invalid"
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}")
_REFUSED = re.compile(
    r"could not read Username|Authentication failed|HTTP (?:Basic: Access denied|401|403)|error: 40[13]", re.IGNORECASE
)


class GitFailed(Exception):
    """A git command failed. The message completes a sentence that starts with “git”, and holds no output of git."""


class GitRefused(GitFailed):
    """The server refused: trying again does not help."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a commit."""

    path: str
    mode: str
    object_id: str
    size: int


def is_branch_name(name: str) -> bool:
    """Whether git accepts this name of a branch."""
    parts = name.split("/")
    is_plain = _BRANCH.fullmatch(name) is not None and ".." not in name
    return is_plain and all(part and not part.startswith(".") and not part.endswith((".", ".lock")) for part in parts)


class GitRepository:
    """A bare copy of a remote repository in a temporary folder."""

    def __init__(self, folder: Path, url: str, environment: Mapping[str, str], proxy: GuardProxy) -> None:
        self._folder = folder
        self._url = url
        self._environment = dict(environment)
        self._proxy = proxy

    async def heads(self, *branches: str) -> dict[str, str]:
        """The commits of these branches on the server; those that do not exist are left out."""
        refs = [f"refs/heads/{branch}" for branch in branches]
        lines = (await self._remote("ls-remote", "--", self._url, *refs)).decode().splitlines()
        heads = (line.split("\t", 1) for line in lines)
        return {ref.removeprefix("refs/heads/"): commit for commit, ref in heads if ref in refs}

    async def fetch_base(self, branch: str) -> str:
        """Fetch the last commit of a branch with its files. Returns its id."""
        return await self._fetch(branch, _BASE)

    async def is_ours(self, branch: str) -> bool:
        """Whether the last commit of a branch was made by `commit`: a branch with commits of a person is not changed."""
        commit = await self._fetch(branch, _OURS)
        return (await self._git("show", "-s", "--format=%ce", commit)).decode().strip() == _EMAIL

    async def _fetch(self, branch: str, ref: str) -> str:
        await self._remote("fetch", "--quiet", "--depth=1", "--no-tags", "--", self._url, f"+refs/heads/{branch}:{ref}")
        return (await self._git("rev-parse", "--verify", ref)).decode().strip()

    async def list_files(self, commit: str) -> list[SourceFile]:
        """The files of a commit; no links and no submodules."""
        listing = (await self._git("ls-tree", "-r", "-l", "-z", "--full-tree", commit)).decode("utf-8", "surrogateescape")
        files = []
        for entry in filter(None, listing.split("\0")):
            head, _, path = entry.partition("\t")
            mode, kind, object_id, size = head.split()
            if kind == "blob" and mode in {"100644", "100755"}:
                files.append(SourceFile(path, mode, object_id, int(size)))
        return files

    async def read_files(self, files: list[SourceFile]) -> dict[str, bytes]:
        """The content of files by path."""
        if len(files) > MAX_FILES or sum(file.size for file in files) > _MAX_TEXT_BYTES:
            raise GitRefused(f"found more than {MAX_FILES:,} source files, or {_MAX_TEXT_BYTES >> 20} MB of them")
        names = "".join(f"{file.object_id}\n" for file in files).encode()
        output = await self._git("cat-file", "--batch", stdin=names)
        contents, at = {}, 0
        for file in files:
            at = output.index(b"\n", at) + 1
            contents[file.path] = output[at : at + file.size]
            at += file.size + 1
        return contents

    async def commit(self, parent: str, files: list[SourceFile], contents: Mapping[str, bytes], message: str) -> str:
        """A commit that gives some of these files another content. Equal calls give an equal commit."""
        index = {"GIT_INDEX_FILE": str(self._folder / "index.sitelore")}
        await self._git("read-tree", parent, more=index)
        entries = []
        for file in files:
            if file.path in contents:
                blob = (await self._git("hash-object", "-w", "--stdin", stdin=contents[file.path])).decode().strip()
                entries.append(f"{file.mode} {blob}\t{file.path}\0".encode("utf-8", "surrogateescape"))
        await self._git("update-index", "-z", "--index-info", stdin=b"".join(entries), more=index)
        tree = (await self._git("write-tree", more=index)).decode().strip()
        time = (await self._git("show", "-s", "--format=%ct", parent)).decode().strip()
        dates = {"GIT_AUTHOR_DATE": f"{time} +0000", "GIT_COMMITTER_DATE": f"{time} +0000"}
        made = await self._git("commit-tree", tree, "-p", parent, "-F", "-", stdin=message.encode(), more=dates)
        return made.decode().strip()

    async def push(self, commit: str, branch: str, expected: str) -> None:
        """Set a branch to a commit, unless it is not at the expected one any more (empty: it must not exist)."""
        lease = f"--force-with-lease=refs/heads/{branch}:{expected}"
        await self._remote("push", "--quiet", "--no-verify", lease, "--", self._url, f"{commit}:refs/heads/{branch}")

    async def _remote(self, *arguments: str) -> bytes:
        """A command that connects to the server."""
        try:
            return await self._git(*arguments)
        except GitFailed:
            url = Url.trusted(self._url)
            if (refused := self._proxy.failure(url.host, url.port)) is None:
                raise
            # Which addresses a name has inside of the network is not for tenants.
            if refused.failure is Failure.ADDRESS:
                raise GitRefused("cannot connect: the address is not allowed") from None
            raise GitFailed(f"cannot connect: {refused.failure.value}") from None

    async def _git(self, *arguments: str, stdin: bytes = b"", more: Mapping[str, str] | None = None) -> bytes:
        process = await asyncio.create_subprocess_exec(
            self._environment["GIT_PROGRAM"], "--git-dir", str(self._folder), *arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={**self._environment, **(more or {})}, cwd=self._folder, start_new_session=True,
        )  # fmt: skip
        watch = asyncio.create_task(self._watch_size(process))
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                output, errors = await process.communicate(stdin)
        except TimeoutError:
            raise GitFailed(f"{arguments[0]} took longer than {_TIMEOUT_S:g} s") from None
        finally:
            watch.cancel()
            _kill(process)
            await process.wait()
        if process.returncode:
            kind = GitRefused if _REFUSED.search(errors.decode("utf-8", "replace")) else GitFailed
            reason = "was refused: the token is not valid, or may not do this" if kind is GitRefused else "failed"
            if watch.done() and not watch.cancelled() and watch.exception() is None:
                raise GitRefused(f"{arguments[0]} stopped: the repository is larger than {_MAX_REPOSITORY_BYTES >> 30} GB")
            raise kind(f"{arguments[0]} {reason}")
        return output

    async def _watch_size(self, process: asyncio.subprocess.Process) -> None:
        """Return after killing a process that fetches too much."""
        while True:
            await asyncio.sleep(_WATCH_S)
            if await asyncio.to_thread(_size, self._folder) > _MAX_REPOSITORY_BYTES:
                _kill(process)
                return


def _size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(parent, name).lstat().st_size
    return total


def _kill(process: asyncio.subprocess.Process) -> None:
    """End a process and its helpers, which have a session of their own."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@asynccontextmanager
async def open_repository(
    url: str, user: str, token: str, guard: AddressGuard, access: RunAccess
) -> AsyncIterator[GitRepository]:
    """An empty copy of the repository at a URL, which is deleted at the end."""
    program = shutil.which("git")
    if program is None:
        raise GitRefused("is not installed on this machine")
    proxy = GuardProxy(guard, _LIMITS, access=access)
    await proxy.start()
    try:
        with tempfile.TemporaryDirectory(prefix="sitelore-git-") as name:
            folder = Path(name)
            environment = _environment(program, folder, f"{user}:{token}", proxy, is_tls_custom=access.tls.is_custom)
            repository = GitRepository(folder, f"{url}.git", environment, proxy)
            await repository._git("init", "--quiet", "--bare", name)  # noqa: SLF001 an object of this module
            yield repository
    finally:
        await proxy.close()


def _environment(program: str, home: Path, credentials: str, proxy: GuardProxy, *, is_tls_custom: bool) -> dict[str, str]:
    """All environment variables of a git process."""
    user, password = proxy.credentials
    settings = {
        "http.extraHeader": f"Authorization: Basic {base64.b64encode(credentials.encode()).decode()}",
        "http.followRedirects": "false",
        "http.proxy": proxy.address.replace("://", f"://{user}:{password}@"),
        "http.proxyAuthMethod": "basic",
        # The proxy reads no chunked bodies; a patch is far smaller.
        "http.postBuffer": str(64 << 20),
        # With certificates of the operator, the proxy verifies the server and ends TLS (`guard_proxy.py`).
        "http.sslVerify": "false" if is_tls_custom else "true",
        "credential.helper": "",
        "core.hooksPath": os.devnull,
        "gc.auto": "0",
    }
    pairs = {f"GIT_CONFIG_KEY_{number}": key for number, key in enumerate(settings)}
    pairs |= {f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(settings.values())}
    return {
        "GIT_PROGRAM": program,
        "PATH": f"{Path(program).parent}{os.pathsep}{os.defpath}",
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "http:https",
        "GIT_AUTHOR_NAME": _NAME,
        "GIT_AUTHOR_EMAIL": _EMAIL,
        "GIT_COMMITTER_NAME": _NAME,
        "GIT_COMMITTER_EMAIL": _EMAIL,
        "GIT_CONFIG_COUNT": str(len(settings)),
        **pairs,
    }
