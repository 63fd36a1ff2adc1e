"""The files of a checkout, and which of them made a page: by its edit link, the rules of its generator, or its text.

Each answer is checked with the text of the page: a file that does not hold most of it is refused, whatever its name.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

from sitelore.audit.fixes.source import NoFix, SourceKind, kind_of
from sitelore.model.url import Url

_SHINGLE_WORDS = 4
_MIN_SHARE = 0.5
"""The share of a page's text that its source must have."""
_MIN_SHARE_BY_TEXT = 0.6
"""That share where nothing but the text points at the file, which must also have twice that of any other."""
_EDIT_LINK = re.compile(r"/(?:_?edit|blob|tree|src)/[^/]+/([^?#]+)")
_DOCS_DIR = re.compile(r"^docs_dir:[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
_OWN_URL = re.compile(r"^(?:url|permalink)\s*[:=][ \t]*[\"']?(/[^\s\"']*)", re.MULTILINE)
_INVISIBLE = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.DOTALL | re.IGNORECASE)
_WORD = re.compile(r"\w+")
_NAMES = ("", "index", "_index", "README")
_MARKUP = (".md", ".markdown", ".rst")
_TEMPLATE_FOLDERS = ("layouts", "_layouts", "_templates", "templates", "themes", "overrides", "_includes", "theme")
CONFIGURATION = frozenset(
    {"mkdocs.yml", "mkdocs.yaml", "hugo.toml", "hugo.yaml", "hugo.json", "config.toml", "conf.py", "_config.yml",
     "docusaurus.config.js", "docusaurus.config.ts"}
)  # fmt: skip
"""Files that say which generator makes the site. They are read, never changed."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source file of a page."""

    path: str
    how: str
    """`edit link`, `generator` or `text`."""
    share: float
    """The share of the page's text that the file has."""


@dataclass(frozen=True)
class Checkout:
    """The files of a checkout that may be changed, and those that name its generator."""

    files: Mapping[str, str]
    """The text by path, with `/`."""
    base_path: str = "/"
    """The path of the URL under which the site is published."""

    @cached_property
    def roots(self) -> list[str]:
        """The folders from which the pages are made: each ends with `/` or is empty."""
        by_name = {posixpath.basename(path): path for path in self.files if posixpath.basename(path) in CONFIGURATION}
        roots = []
        for name, path in sorted(by_name.items()):
            folder = posixpath.dirname(path)
            if name.startswith("mkdocs"):
                docs = _DOCS_DIR.search(self.files[path])
                roots.append(posixpath.join(folder, docs[1] if docs is not None else "docs"))
            elif name.startswith(("hugo", "config.toml")):
                roots.append(posixpath.join(folder, "content"))
            elif name.startswith("docusaurus"):
                roots += [posixpath.join(folder, "docs"), posixpath.join(folder, "src/pages")]
            else:
                roots.append(folder)
        normal = [posixpath.normpath(root) for root in roots]
        return [f"{root}/" if root not in {"", "."} else "" for root in normal]

    @property
    def is_generated(self) -> bool:
        """Whether a generator makes the pages, with templates around them."""
        return bool(self.roots)

    def candidates(self, url: str) -> list[str]:
        """The files that may be the source of a URL, whether they exist or not."""
        path = unquote(Url.trusted(url).path)
        path = path.removeprefix(self.base_path) if path.startswith(self.base_path) else path
        path = path.lstrip("/")
        if not self.is_generated:
            is_folder = not path or path.endswith("/")
            return [f"{path}index.html"] if is_folder else [path, f"{path}.html", f"{path}/index.html"]
        stem = path.rstrip("/").removesuffix(".html").removesuffix(".htm")
        stems = [posixpath.join(stem, name) if name else stem for name in _NAMES]
        stems += [posixpath.join(stem.removesuffix("index"), name) for name in ("_index", "README") if stem.endswith("index")]
        return [f"{root}{each}{ending}" for root in self.roots for each in stems if each for ending in (*_MARKUP, ".html")]

    def source_of(self, url: str, text: str, links: Iterable[str] = ()) -> Source:
        """The file that made a page; `NoFix` when it is not clear. `text`: that of the page. `links`: the URLs it links."""
        page = Counter(_shingles(text))
        edited = [path for link in links if (path := self._edited(link)) is not None]
        for how, paths in (("edit link", edited), ("generator", self._made_from(url))):
            shares = sorted(((self._share(path, page), path) for path in dict.fromkeys(paths)), reverse=True)
            if shares:
                return self._checked(shares, how, _MIN_SHARE)
        shares = sorted(((self._share(path, page), path) for path in self._pages()), reverse=True)
        if not shares:
            raise NoFix("the checkout has no file that could be the page")
        return self._checked(shares, "text", _MIN_SHARE_BY_TEXT)

    def _checked(self, shares: Sequence[tuple[float, str]], how: str, bar: float) -> Source:
        share, path = shares[0]
        if share < bar:
            raise NoFix(f"no file has the text of the page ({path} has {share:.0%})")
        if len(shares) > 1 and shares[1][0] * 2 > share:
            raise NoFix(f"{path} and {shares[1][1]} may both be its source")
        return Source(path, how, share)

    def _edited(self, link: str) -> str | None:
        """The file that an edit link of a page names."""
        match = _EDIT_LINK.search(link)
        path = unquote(match[1]) if match is not None else ""
        return path if path in self.files and kind_of(path) is not None else None

    def _made_from(self, url: str) -> Iterator[str]:
        yield from (path for path in self.candidates(url) if path in self.files)
        own = Url.trusted(url).path.rstrip("/")
        for path in self._pages():
            match = _OWN_URL.search(self.files[path][:2_000]) if kind_of(path) is SourceKind.MARKDOWN else None
            if match is not None and unquote(match[1]).rstrip("/") == unquote(own):
                yield path

    def _pages(self) -> Iterator[str]:
        """Yield the files that may be pages: not templates."""
        for path in self.files:
            if kind_of(path) not in {None, SourceKind.ROBOTS} and not _is_template(path):
                yield path

    def _share(self, path: str, page: Counter[str]) -> float:
        if not page:
            return 0.0
        return sum((page & self._shingles_of(path)).values()) / page.total()

    def _shingles_of(self, path: str) -> Counter[str]:
        if path not in self._cache:
            self._cache[path] = Counter(_shingles(_INVISIBLE.sub(" ", self.files[path])))
        return self._cache[path]

    @cached_property
    def _cache(self) -> dict[str, Counter[str]]:
        return {}

    def template(self) -> str:
        """The one template with a head; `NoFix` when there are none or several."""
        templates = [path for path in self.files if _is_template(path) and re.search(r"<head[\s>]", self.files[path])]
        if len(templates) != 1:
            raise NoFix(f"{len(templates) or 'no'} templates of the checkout have a head")
        return templates[0]

    def robots(self) -> str:
        """The one robots.txt; `NoFix` when there are none or several."""
        paths = [path for path in self.files if kind_of(path) is SourceKind.ROBOTS]
        if len(paths) != 1:
            raise NoFix(f"the checkout has {len(paths) or 'no'} files with the name robots.txt")
        return paths[0]


def _is_template(path: str) -> bool:
    return any(part in _TEMPLATE_FOLDERS for part in path.split("/")[:-1])


def _shingles(text: str) -> Iterator[str]:
    """Yield runs of words. Short texts are one run."""
    words = _WORD.findall(text.casefold())
    if 0 < len(words) < _SHINGLE_WORDS:
        yield " ".join(words)
    for at in range(len(words) - _SHINGLE_WORDS + 1):
        yield " ".join(words[at : at + _SHINGLE_WORDS])
