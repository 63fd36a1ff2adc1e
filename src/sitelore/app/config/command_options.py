"""Options of a crawl that are not stored with its run: which files it writes, and its access to sites.

`sitelore.toml` has the same names, and the reference is made from these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sitelore.app.config.kinds import Choice, Flag, Items, Kind, Line, OneOf, any_line
from sitelore.export.formats import FORMATS, MARKDOWN
from sitelore.model.settings import LinkStyle

DATABASE = "db"
OUTPUTS = (DATABASE, MARKDOWN, *FORMATS)
"""What `--output` takes; `db` alone writes no files."""

OUTPUT_KINDS: Mapping[str, Kind] = {
    "output": Items(OneOf(OUTPUTS)),
    "out": Line("directory", "the name of a directory", any_line),
    "links": Choice(LinkStyle),
    "index": Flag(),
}


@dataclass(frozen=True, slots=True)
class CommandOption:
    """One option, and its name in every place. A place that does not have it says why."""

    name: str
    """Its key in `sitelore.toml`."""
    option: str
    meaning: str
    api: str
    python: str
    file: str


_NO_FILES = "none: a request names no files"
_OPERATOR = "the operator's `SITELORE_ACCESS`"

OUTPUT_OPTIONS = (
    CommandOption(
        "output", "--output", "Files to write besides the database: `md`, or formats of `sitelore export`.",
        "`format` of `GET /crawl-runs/{run_id}/export`", "none: pages are returned", "`output`",
    ),
    CommandOption("out", "--out", "Directory for files.", _NO_FILES, "none: writes no files", "`out`"),
    CommandOption(
        "links", "--links", "How links are written in Markdown files.", "none: absolute", "none: absolute", "`links`",
    ),
    CommandOption(
        "index", "--index", "Whether pages are indexed while they are crawled.", "none: always", "none: `search` indexes",
        "`index`",
    ),
)  # fmt: skip

ACCESS_OPTIONS = (
    CommandOption("headers", "--header", "Headers for the site.", "`headers`", "`headers=`", "`headers`"),
    CommandOption("cookie", "--cookie", "Cookies as text: `a=b; c=d`.", "`cookie`", "`cookies=` (text or mapping)", "`cookie`"),
    CommandOption("cookies", "--cookies", "A file of cookies in Netscape format.", _NO_FILES, "`cookies=` (path)", "`cookies`"),
    CommandOption(
        "storage_state", "--storage-state", "Cookies and local storage, as Playwright saves them.",
        "`storageState` (the object)", "`storage_state=`", "`storage_state`",
    ),
    CommandOption("auth", "--auth", "Basic auth: `USER:PASSWORD`.", "`auth`", "`auth=`", "`auth`"),
    CommandOption("bearer", "--bearer", "A bearer token.", "`bearer`", "`bearer=`", "`bearer`"),
    CommandOption(
        "client_cert", "--client-cert", "A client certificate, as PEM files.", _OPERATOR, "`client_cert=`", "`client_cert`",
    ),
    CommandOption(
        "ca_file", "--ca-file", "Further certificates to trust (PEM).", _OPERATOR, "`ca_file=`", "`[access] ca_file`",
    ),
    CommandOption("insecure", "--insecure", "Do not verify certificates.", _OPERATOR, "`insecure=`", "`[access] insecure`"),
    CommandOption("proxy", "--proxy", "Proxies; several are used in rotation.", _OPERATOR, "`proxy=`", "`[access] proxy`"),
    CommandOption(
        "no_proxy", "--no-proxy", "Hosts that are fetched without a proxy; added to `NO_PROXY`.", _OPERATOR, "`no_proxy=`",
        "`[access] no_proxy`",
    ),
)  # fmt: skip
