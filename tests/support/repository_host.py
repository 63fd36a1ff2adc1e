"""Stand-ins of GitHub and GitLab on loopback: a real git server (`git http-backend`), and the parts of their APIs that we use.

Every request is checked against the documentation of its API: path, headers, and each field of the body. What is wrong is
answered with 400 and listed in `violations`, which `repository_host` asserts to be empty at the end.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from sitelore.model.platform.fixes import RepositoryHost

GIT = shutil.which("git") or "git"
OWNER, NAME = "mill-town", "site"
TOKEN = "token-of-the-test-0123456789"
MERGED_AT = "2027-01-15T08:00:00Z"


@dataclass
class Reply:
    """An answer: a status, a JSON body and headers."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class StandIn:
    """The running server with its repository and its pull requests."""

    kind: RepositoryHost
    folder: Path
    port: int = 0
    token: str = TOKEN
    default_branch: str = "main"
    can_push: bool = True
    is_archived: bool = False
    offers_drafts: bool = True
    pulls: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """Method and path of every API request."""
    next_replies: list[Reply] = field(default_factory=list)
    """Answers of the next API requests, in place of the real ones."""
    git_status: int = 0
    """The status of git requests, in place of the real one."""
    violations: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{OWNER}/{NAME}"

    @property
    def repository(self) -> Path:
        return self.folder / OWNER / f"{NAME}.git"

    def git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git in the repository of the server."""
        identity = {f"GIT_{who}_{what}": "person" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {"PATH": os.defpath, "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1", **identity}
        command = (GIT, "--git-dir", str(self.repository), *arguments)
        return subprocess.run(command, input=stdin, env=environment, capture_output=True, check=True).stdout

    def create(self, files: Mapping[str, bytes]) -> None:
        """Create the repository with a commit of these files on its default branch."""
        self.repository.mkdir(parents=True)
        self.git("init", "--bare", "--quiet", "--initial-branch", self.default_branch)
        self.commit(files, self.default_branch)

    def commit(self, files: Mapping[str, bytes], branch: str) -> str:
        """Let a person commit files to a branch."""
        stream = [
            f"commit refs/heads/{branch}\ncommitter person <person@people.test> 1700000000 +0000\ndata 4\nedit\n".encode()
        ]
        if self.head(branch):
            stream.append(f"from refs/heads/{branch}^0\n".encode())
        for path, content in files.items():
            stream.append(f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n")
        self.git("fast-import", "--quiet", stdin=b"".join(stream))
        return self.head(branch)

    def head(self, branch: str) -> str:
        return self.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}").decode().strip()

    def read(self, branch: str, path: str) -> bytes:
        return self.git("cat-file", "blob", f"{branch}:{path}")

    def branches(self) -> list[str]:
        return self.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").decode().split()

    def merge(self, number: int, at: str = MERGED_AT) -> None:
        """Let a person merge a pull request."""
        pull = self.pulls[number - 1]
        self.git("update-ref", f"refs/heads/{pull['base']}", self.head(pull["branch"]))
        pull.update(state="merged", merged_at=at)

    def close(self, number: int) -> None:
        """Let a person close a pull request."""
        self.pulls[number - 1]["state"] = "closed"

    # The APIs

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        self.requests.append(f"{method} {target}")
        if problems := list(self._head_problems(method, headers)):
            self.violations += [f"{method} {target}: {problem}" for problem in problems]
            return Reply(400)
        if self.next_replies:
            return self.next_replies.pop(0)
        if headers.get("authorization", headers.get("private-token", "")).removeprefix("Bearer ") != self.token:
            return Reply(401)
        parts = urlsplit(target)
        root = f"/api/v3/repos/{OWNER}/{NAME}" if self.kind is RepositoryHost.GITHUB else f"/api/v4/projects/{OWNER}%2F{NAME}"
        if not parts.path.startswith(root):
            return Reply(404)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        fields = json.loads(body) if body else None
        path = parts.path.removeprefix(root)
        reply = (self._github if self.kind is RepositoryHost.GITHUB else self._gitlab)(method, path, query, fields)
        if reply is None:
            self.violations.append(f"{method} {target}: {fields}")
            return Reply(400)
        return reply

    def _head_problems(self, method: str, headers: Mapping[str, str]) -> Iterator[str]:
        if self.kind is RepositoryHost.GITHUB:
            if not headers.get("authorization", "").startswith("Bearer ") or "private-token" in headers:
                yield "no bearer token"
            if headers.get("accept") != "application/vnd.github+json" or headers.get("x-github-api-version") != "2022-11-28":
                yield "no media type or version of the API"
        elif "private-token" not in headers or "authorization" in headers:
            yield "no private token"
        if "user-agent" not in headers:
            yield "no user agent"
        if (method != "GET") != (headers.get("content-type") == "application/json"):
            yield "content type"

    def _github(self, method: str, path: str, query: dict[str, str], fields: Any) -> Reply | None:
        number = re.fullmatch(r"/pulls/(\d+)", path)
        if (method, path) == ("GET", "") and not query:
            facts = {"default_branch": self.default_branch, "archived": self.is_archived, "private": False}
            return Reply(200, {**facts, "permissions": {"pull": True, "push": self.can_push}})
        if (method, path) == ("GET", "/pulls"):
            if set(query) != {"state", "head", "base"} or query["state"] != "open" or not query["head"].startswith(f"{OWNER}:"):
                return None
            branch = query["head"].partition(":")[2]
            return Reply(200, [self._shown(pull) for pull in self._open_pulls(branch, query["base"])])
        if (method, path) == ("POST", "/pulls"):
            if set(fields) != {"title", "head", "base", "body", "draft"} or fields["draft"] is not True:
                return None
            return self._create(fields["head"], fields["base"], fields["title"], fields["body"], 422)
        if number and method == "GET" and not query:
            return self._one(int(number[1]))
        if number and method == "PATCH" and set(fields) == {"body"}:
            return self._one(int(number[1]), fields["body"])
        return None

    def _gitlab(self, method: str, path: str, query: dict[str, str], fields: Any) -> Reply | None:
        number = re.fullmatch(r"/merge_requests/(\d+)", path)
        if (method, path) == ("GET", "") and not query:
            access = {"project_access": {"access_level": 30 if self.can_push else 20}, "group_access": None}
            return Reply(
                200, {"default_branch": self.default_branch, "archived": self.is_archived, "permissions": access, "id": 7}
            )
        if (method, path) == ("GET", "/merge_requests"):
            if set(query) != {"state", "source_branch", "target_branch"} or query["state"] != "opened":
                return None
            pulls = self._open_pulls(query["source_branch"], query["target_branch"])
            return Reply(200, [self._shown(pull) for pull in pulls])
        if (method, path) == ("POST", "/merge_requests"):
            names = {"source_branch", "target_branch", "title", "description", "remove_source_branch"}
            if set(fields) != names or not fields["title"].startswith("Draft: "):
                return None
            return self._create(fields["source_branch"], fields["target_branch"], fields["title"], fields["description"], 409)
        if number and method == "GET" and not query:
            return self._one(int(number[1]))
        if number and method == "PUT" and set(fields) == {"description"}:
            return self._one(int(number[1]), fields["description"])
        return None

    def _open_pulls(self, branch: str, base: str) -> list[dict[str, Any]]:
        return [pull for pull in self.pulls if pull["branch"] == branch and pull["base"] == base and pull["state"] == "open"]

    def _create(self, branch: str, base: str, title: str, text: str, conflict: int) -> Reply:
        if self._open_pulls(branch, base):
            return Reply(conflict, {"message": "A pull request already exists"})
        if not self.head(branch) or not self.head(base) or not self.offers_drafts or len(text) > 65_536 or len(title) > 256:
            return Reply(422, {"message": "Validation Failed"})
        number = len(self.pulls) + 1
        self.pulls.append({
            "number": number, "branch": branch, "base": base, "title": title, "text": text, "state": "open",
            "merged_at": None, "is_draft": True,
        })  # fmt: skip
        return Reply(201, self._shown(self.pulls[-1]))

    def _one(self, number: int, text: str | None = None) -> Reply:
        if not 0 < number <= len(self.pulls):
            return Reply(404)
        pull = self.pulls[number - 1]
        if text is not None:
            pull["text"] = text
        return Reply(200, self._shown(pull))

    def _shown(self, pull: Mapping[str, Any]) -> dict[str, Any]:
        number, state = pull["number"], pull["state"]
        if self.kind is RepositoryHost.GITHUB:
            return {
                "number": number, "html_url": f"{self.url}/pull/{number}", "draft": pull["is_draft"],
                "state": "open" if state == "open" else "closed", "merged_at": pull["merged_at"], "title": pull["title"],
                "body": pull["text"], "head": {"ref": pull["branch"]}, "base": {"ref": pull["base"]},
            }  # fmt: skip
        return {
            "iid": number, "web_url": f"{self.url}/-/merge_requests/{number}", "draft": pull["is_draft"],
            "state": "opened" if state == "open" else state, "merged_at": pull["merged_at"], "title": pull["title"],
            "description": pull["text"], "source_branch": pull["branch"], "target_branch": pull["base"],
        }  # fmt: skip

    # git

    def git_answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """What `git http-backend` answers. It serves nothing without the right token."""
        user = "x-access-token" if self.kind is RepositoryHost.GITHUB else "oauth2"
        expected = f"Basic {base64.b64encode(f'{user}:{self.token}'.encode()).decode()}"
        if headers.get("authorization") != expected:
            return 401, {"WWW-Authenticate": 'Basic realm="git"'}, b""
        if self.git_status:
            return self.git_status, {}, b""
        parts = urlsplit(target)
        environment = {
            "PATH": os.defpath, "HOME": str(self.folder), "GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": unquote(parts.path), "QUERY_STRING": parts.query, "REQUEST_METHOD": method, "REMOTE_USER": user,
            "CONTENT_TYPE": headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)), "REMOTE_ADDR": "127.0.0.1",
            "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""), "GIT_PROTOCOL": headers.get("git-protocol", ""),
        }  # fmt: skip
        output = subprocess.run((GIT, "http-backend"), input=body, env=environment, capture_output=True, check=True).stdout
        head, _, content = output.partition(b"\r\n\r\n")
        answered = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        return int(answered.pop("Status", "200 OK").split()[0]), answered, content


@contextmanager
def repository_host(kind: RepositoryHost, folder: Path, files: Mapping[str, bytes]) -> Iterator[StandIn]:
    """Serve a repository with these files while the body runs, in threads."""
    stand_in = StandIn(kind, folder)
    stand_in.create(files)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if self.path.startswith("/api/"):
                reply = stand_in.answer(self.command, self.path, headers, body)
                content = b"" if reply.body is None else json.dumps(reply.body).encode()
                answer = reply.status, {"Content-Type": "application/json", **reply.headers}, content
            else:
                answer = stand_in.git_answer(self.command, self.path, headers, body)
            status, answered, content = answer
            self.send_response(status)
            for name, value in {**answered, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_PUT = _respond  # noqa: N815 names of the base class

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stand_in.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield stand_in
        assert stand_in.violations == []
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
