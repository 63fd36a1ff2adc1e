"""A synthetic site whose every page is a function of (seed, n), and the oracle that says what a crawl of it must record.

The oracle is computed from the model alone. It shares no code with the crawler; where the two disagree, the rules it
assumes are these (from the frontier's written design and the docstrings of `model/frontier.py`):

1. Keys. Fragments, tracking parameters, dot segments, the case of scheme and host never make another URL.
2. Offers merge by minimum of (refused, depth, source, parent's seq, position) until a row is admitted. Source ranks: seed,
   redirect and sitemap 0, link 1, canonical 2. Position is the order of first occurrence among the page's links.
3. A wave takes the unadmitted, unrefused rows of depth <= the current one in rank order, else those of the next depth, and
   at most `max_pages - kept` of them; they get the next seq numbers in that order. It settles as a whole before the next.
4. A redirect settles as ALIAS and offers its target at its own depth, source redirect, parent the redirecting URL. A target
   that is the URL itself or part of the chain that led here is a loop: FAILED, error `redirect_loop`.
   Aliases that lead in a circle, none of them having been reached through all the others (two were linked), end the same way.
5. A page is VISITED and offers its links at depth + 1, its canonical (when it is not itself) at depth + 1 as source canonical.
   Offers to other hosts are refused as `scope`, offers beyond `max_depth` as `depth`, rel=nofollow links as `nofollow`,
   the first of these that applies.
6. A URL that robots.txt forbids is admitted, then SKIPPED as `robots`; it uses no budget. A 404 is NOT_FOUND; neither does it.
7. When a wave has settled, kept pages of equal content become one: the page that their canonical names when it is among them,
   else the smallest seq; the others become ALIAS. Here canonical links connect equal pages only.
8. `max_pages` counts kept pages. What is unadmitted at the end is SKIPPED as `budget`.
9. `final_url` of an alias is the URL at which redirects and merges end, in any state; of a kept page, its own URL; else none.
10. The sitemap that robots.txt names is read after the seed's wave, unless the budget is used up by then. Its entries have
    depth 1, source sitemap, the sitemap's URL as parent.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from functools import cached_property

from tests.support.http_server import Answer

EXTERNAL = "http://external.invalid"
_SYLLABLES = (
    "ba",
    "ren",
    "tol",
    "mi",
    "sha",
    "dor",
    "ku",
    "fen",
    "lia",
    "pos",
    "gra",
    "nem",
    "ti",
    "vor",
    "cel",
    "hu",
    "zan",
    "qui",
)
_STATUSES = (301, 302, 307, 308)
_SECTIONS = ("guide", "news", "shop", "team", "research", "support/faq", "library/books")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A link on a page: its target, and the spelling of its href."""

    target: str
    """A path of this site, or an absolute URL elsewhere."""
    spelling: int = 0
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """One URL of the site."""

    path: str
    anchors: tuple[Anchor, ...] = ()
    content: int = 0
    """Nodes of equal content serve the same bytes."""
    canonical: str = ""
    redirect: str = ""
    status: int = 200


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected row of one URL in an export."""

    state: str
    depth: int
    parent: str | None
    final_url: str | None = None
    skip_reason: str | None = None


@dataclass(slots=True)
class _Row:
    """The oracle's row of one URL."""

    rank: tuple[int, int, int, int, int]
    parent: str | None
    refusal: str | None = None
    chain: tuple[str, ...] = ()
    state: str = ""
    seq: int = -1
    skip: str | None = None
    alias_of: str = ""

    @property
    def depth(self) -> int:
        return self.rank[1]


def _word(chance: random.Random) -> str:
    return "".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4)))


@dataclass(frozen=True)
class Graph:
    """The site of this seed with about n URLs."""

    seed: int
    n: int = 90
    with_sitemap: bool = False

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """Every URL that exists, by path."""
        return _Builder(self.seed, self.n).build()

    @cached_property
    def sitemap(self) -> tuple[str, ...]:
        """Paths the sitemap lists: every fourth page, a redirect and a page that nothing links to."""
        if not self.with_sitemap:
            return ()
        pages = [p for p, node in self.nodes.items() if node.status == 200]
        moved = [p for p, node in self.nodes.items() if node.redirect]
        return (*pages[3::4], *moved[:1])

    def pages(self, origin: str) -> _Served:
        """The pages of the site at this origin, for a server."""
        return _Served(self, origin)

    def expected(self, origin: str, max_pages: int | None = None, max_depth: int | None = None) -> dict[str, Expected]:
        """Every row of the export, by URL."""
        return _Oracle(self, origin, max_pages, max_depth).run()


class _Builder:
    """Generates the site from one seeded random source, in a fixed order."""

    def __init__(self, seed: int, n: int) -> None:
        self._chance = random.Random(f"graph {seed} {n}")
        self._n = n
        self._count = itertools.count(1)

    def build(self) -> dict[str, Node]:
        chance, n = self._chance, self._n
        pages = ["/"] + [self._path() for _ in range(int(n * 0.68))]
        missing = [self._path() for _ in range(max(2, n // 16))]
        private = [f"/private/{_word(chance)}-{next(self._count)}" for _ in range(max(2, n // 24))]
        redirects = self._redirects(pages, missing)
        out: dict[str, list[Anchor]] = {path: [] for path in pages}
        self._tree(out, pages)
        self._shapes(out, pages)
        for path in [*missing, *private, *redirects, *(f"{EXTERNAL}/{_word(chance)}" for _ in range(n // 12))]:
            for parent in chance.sample(pages, chance.randint(1, 3)):
                out[parent].append(self._anchor(path))
        self._dense(out, pages, [*missing, *private, *redirects])
        nodes = {path: Node(path, self._tidy(out[path]), content) for content, path in enumerate(pages)}
        nodes |= {path: Node(path, status=404) for path in missing}
        nodes |= {path: Node(path, content=-1 - i) for i, path in enumerate(private)}
        nodes |= redirects_to_nodes(redirects, chance)
        self._twins(nodes, pages)
        return nodes

    def _path(self) -> str:
        chance, number = self._chance, next(self._count)
        if chance.random() < 0.08:
            return f"/{_word(chance)}?item={_word(chance)}{number}"
        return f"/{chance.choice(_SECTIONS)}/{_word(chance)}-{_word(chance)}-{number}"

    def _anchor(self, target: str) -> Anchor:
        return Anchor(target, self._chance.randrange(9), self._chance.random() < (0.3 if target.startswith(EXTERNAL) else 0.05))

    def _tree(self, out: dict[str, list[Anchor]], pages: list[str]) -> None:
        """Link most pages from an earlier one; a few are reached by redirects or sitemaps only, or not at all."""
        chance = self._chance
        for i, path in enumerate(pages[1:], 1):
            if chance.random() < 0.94:
                out[pages[chance.randrange(max(1, i // 2), i) if i > 1 else 0]].append(self._anchor(path))
        for path in pages:
            out[path] += [self._anchor(t) for t in chance.choices(pages, k=chance.randint(0, 4))]

    def _shapes(self, out: dict[str, list[Anchor]], pages: list[str]) -> None:
        """Link pages to a ring, and others to a chain that makes the site deep."""
        chance = self._chance
        ring = chance.sample(pages, 7)
        chain = chance.sample(pages, 9)
        for a, b in [*itertools.pairwise([*ring, ring[0]]), *itertools.pairwise(chain)]:
            out[a].append(self._anchor(b))
        out["/"].append(Anchor(ring[0]))
        out["/"].append(Anchor(chain[0], 3))

    def _dense(self, out: dict[str, list[Anchor]], pages: list[str], others: list[str]) -> None:
        """Give one page more than a hundred links, with repeats, all spellings and itself."""
        hub = self._chance.choice(pages[1:])
        out[hub] += [self._anchor(t) for t in self._chance.choices([*pages, *others], k=130)] + [Anchor(hub, 3)]

    def _redirects(self, pages: list[str], missing: list[str]) -> dict[str, str]:
        """Single ones, two to one page, a chain of five, one to a 404, a loop of three, one to itself."""
        chance = self._chance
        moved: dict[str, str] = {}
        for _ in range(max(3, self._n // 20)):
            moved[self._path()] = chance.choice(pages)
        shared_target = chance.choice(pages)
        moved[self._path()] = shared_target
        moved[self._path()] = shared_target
        chain = [self._path() for _ in range(chance.randint(2, 5))]
        moved |= dict(itertools.pairwise([*chain, chance.choice(pages)]))
        moved[self._path()] = chance.choice(missing)
        loop = [self._path() for _ in range(3)]
        moved |= dict(itertools.pairwise([*loop, loop[0]]))
        itself = self._path()
        moved[itself] = itself
        return moved

    def _twins(self, nodes: dict[str, Node], pages: list[str]) -> None:
        """Groups of two or three URLs that serve the same bytes, some of them with a canonical link to one of the group."""
        chance = self._chance
        picked = chance.sample(pages[1:], max(4, self._n // 10))
        while len(picked) >= 2:
            group = [picked.pop() for _ in range(min(len(picked), chance.randint(2, 3)))]
            model = nodes[group[0]]
            canonical = chance.choice(group) if chance.random() < 0.5 else ""
            for path in group:
                nodes[path] = Node(path, model.anchors, model.content, canonical)

    @staticmethod
    def _tidy(anchors: list[Anchor]) -> tuple[Anchor, ...]:
        """Make all links of a page to one target either nofollow or not."""
        first: dict[str, bool] = {}
        return tuple(Anchor(a.target, a.spelling, first.setdefault(a.target, a.nofollow)) for a in anchors)


def redirects_to_nodes(moved: dict[str, str], chance: random.Random) -> dict[str, Node]:
    """Redirects as nodes, their statuses drawn."""
    return {path: Node(path, redirect=target, status=chance.choice(_STATUSES)) for path, target in moved.items()}


@dataclass(frozen=True, slots=True)
class _Served:
    """The response for a target; HTML is generated once and cached."""

    graph: Graph
    origin: str
    _written: dict[str, Answer] = field(default_factory=dict)

    def __call__(self, target: str) -> Answer | None:
        answer = self._written.get(target)
        if answer is None and (made := self._make(target)) is not None:
            answer = self._written[target] = made
        return answer

    def _make(self, target: str) -> Answer | None:
        if target == "/robots.txt":
            lines = ["User-agent: *", "Disallow: /private/"]
            lines += [f"Sitemap: {self.origin}/sitemap.xml"] if self.graph.with_sitemap else []
            return Answer(body="\n".join(lines).encode(), content_type="text/plain")
        if target == "/sitemap.xml" and self.graph.with_sitemap:
            return Answer(body=sitemap_xml([(self.origin + p, "") for p in self.graph.sitemap]), content_type="application/xml")
        node = self.graph.nodes.get(target)
        if node is None or node.status == 404:
            return None
        if node.redirect:
            return Answer(node.status, headers=(("Location", self.origin + node.redirect),))
        return Answer(body=self._html(node).encode())

    def _html(self, node: Node) -> str:
        chance = random.Random(f"text {self.graph.seed} {node.content}")
        title = " ".join(_word(chance) for _ in range(4)).capitalize()
        canonical = f'<link rel="canonical" href="{self.origin}{node.canonical}">' if node.canonical else ""
        links = [f"<a{' rel=nofollow' if a.nofollow else ''} href='{self._href(a)}'>{_word(chance)}</a>" for a in node.anchors]
        third = len(links) // 3
        paragraphs = [" ".join(_word(chance) for _ in range(chance.randint(40, 90))).capitalize() + "." for _ in range(5)]
        inline = [f"{text} {link}" for text, link in itertools.zip_longest(paragraphs, links[third : 2 * third], fillvalue="")]
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{canonical}</head><body>'
            f"<nav>{' '.join(links[:third])}</nav><main><h1>{title}</h1>{''.join(f'<p>{p}</p>' for p in inline)}"
            f"<ul>{''.join(f'<li>{link}</li>' for link in links[2 * third :])}</ul></main>"
            f"<footer>{_word(chance)}</footer></body></html>"
        )

    def _href(self, anchor: Anchor) -> str:
        if anchor.target.startswith(EXTERNAL):
            return anchor.target
        path = anchor.target
        and_ = "&amp;" if "?" in path else "?"
        return (
            path,
            self.origin + path,
            self.origin.upper() + path,
            f"{path}#section-{len(path)}",
            f"{path}{and_}utm_source=letter&amp;gclid=x1",
            f"/elsewhere/..{path}",
            self.origin.partition(":")[2] + path,
            f"../../../..{path}",
            f" {path} ",
        )[anchor.spelling]


def sitemap_xml(entries: list[tuple[str, str]]) -> bytes:
    """A urlset of (URL, lastmod); an empty lastmod is left out."""
    items = "".join(
        f"<url><loc>{url.replace('&', '&amp;')}</loc>{f'<lastmod>{at}</lastmod>' if at else ''}</url>" for url, at in entries
    )
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="{space}">{items}</urlset>'.encode()


class _Oracle:
    """Rules 1 to 10 above, one worker, one row at a time."""

    def __init__(self, graph: Graph, origin: str, max_pages: int | None, max_depth: int | None) -> None:
        self._graph = graph
        self._origin = origin
        self._budget = 10**9 if max_pages is None else max_pages
        self._max_depth = 10**9 if max_depth is None else max_depth
        self._rows: dict[str, _Row] = {}
        self._seq = itertools.count()

    def run(self) -> dict[str, Expected]:
        self._offer("/", 0, 0, None, -1, 0)
        self._visit_wave(self._admit(0))
        if self._budget_left() > 0:
            for position, path in enumerate(self._graph.sitemap):
                self._offer(path, 1, 0, "/sitemap.xml", 0, position)
        depth = 0
        while (wave := self._admit(depth)) or (depth := self._next_depth(depth)) >= 0:
            self._visit_wave(wave)
        return self._export()

    def _visit_wave(self, wave: list[str]) -> None:
        for path in wave:
            self._visit(path)
        self._merge()

    def _budget_left(self) -> int:
        return self._budget - sum(row.state == "VISITED" for row in self._rows.values())

    def _offer(
        self, path: str, depth: int, source: int, parent: str | None, parent_seq: int, position: int, *,
        refusal: str | None = None, chain: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        if path.startswith(EXTERNAL):
            refusal = "scope"
        elif depth > self._max_depth:
            refusal = "depth"
        new = _Row((refusal is not None, depth, source, parent_seq, position), parent, refusal, chain)
        row = self._rows.get(path)
        if row is None or (row.seq < 0 and new.rank < row.rank):
            self._rows[path] = new

    def _admissible(self) -> list[str]:
        paths = [path for path, row in self._rows.items() if row.seq < 0 and row.refusal is None]
        return sorted(paths, key=lambda path: self._rows[path].rank)

    def _admit(self, depth: int) -> list[str]:
        wave = [path for path in self._admissible() if self._rows[path].depth <= depth][: max(0, self._budget_left())]
        for path in wave:
            self._rows[path].seq = next(self._seq)
        return wave

    def _next_depth(self, depth: int) -> int:
        """The depth that comes next; -1 when nothing is left or the budget is used up."""
        if self._budget_left() <= 0:
            return -1
        deeper = [row.depth for row in self._rows.values() if row.seq < 0 and row.refusal is None and row.depth > depth]
        return min(deeper, default=-1)

    def _visit(self, path: str) -> None:
        row, node = self._rows[path], self._graph.nodes[path]
        if path.startswith("/private/"):
            row.state, row.skip = "SKIPPED", "robots"
        elif node.status == 404:
            row.state = "NOT_FOUND"
        elif node.redirect:
            if node.redirect in (*row.chain, path):
                row.state = "FAILED"
                return
            row.state, row.alias_of = "ALIAS", node.redirect
            self._offer(node.redirect, row.depth, 0, path, row.seq, 0, chain=(*row.chain, path))
        else:
            row.state = "VISITED"
            for position, anchor in enumerate(node.anchors):
                refusal = "nofollow" if anchor.nofollow else None
                self._offer(anchor.target, row.depth + 1, 1, path, row.seq, position, refusal=refusal)
            if node.canonical and node.canonical != path:
                self._offer(node.canonical, row.depth + 1, 2, path, row.seq, 0)

    def _merge(self) -> None:
        groups: dict[int, list[str]] = {}
        for path in sorted((p for p, r in self._rows.items() if r.state == "VISITED"), key=lambda p: self._rows[p].seq):
            groups.setdefault(self._graph.nodes[path].content, []).append(path)
        for group in groups.values():
            canonical = self._graph.nodes[group[0]].canonical
            survivor = canonical if canonical in group else group[0]
            for path in group:
                if path != survivor:
                    self._rows[path].state, self._rows[path].alias_of = "ALIAS", survivor

    def _end(self, path: str) -> str | None:
        """The URL at which aliases end; None when they form a loop."""
        seen = {path}
        while target := self._rows[path].alias_of:
            if target in seen:
                return None
            seen.add(target)
            path = target
        return path

    def _export(self) -> dict[str, Expected]:
        def absolute(path: str | None) -> str | None:
            return path if path is None or path.startswith(EXTERNAL) else self._origin + path

        out: dict[str, Expected] = {}
        for path, row in self._rows.items():
            state, skip, final = row.state, row.skip, None
            if row.seq < 0:
                state, skip = "SKIPPED", row.refusal or "budget"
            elif state == "VISITED":
                final = path
            elif state == "ALIAS":
                final = self._end(path)
                state = "FAILED" if final is None else state
            out[absolute(path) or ""] = Expected(state, row.depth, absolute(row.parent), absolute(final), skip)
        return out
