"""Parsed and scored pages for tests of content selection."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sitelore.extract import dom
from sitelore.extract.content.block_scorer import ScoredPage, Units, build_units, load_model, score_page
from sitelore.extract.content.documentation import PageFacts, is_documentation, select_documentation
from sitelore.extract.content.selection import Selection, select_scored

SENTENCES = (
    "The mill stands where the river bends, and its wheel has not turned since the flood.",
    "Nobody in the village remembers who built it, although the ledger in the church names three families.",
    "In spring the meadow below is under water for a week, which is why the path runs along the ridge.",
    "Every miller kept a list of the floods, and the last entry is from the year the railway came.",
    "What is left of the machinery was sold to a museum, where children may turn a small copy of the wheel.",
    "The roof was repaired twice, first with slate and then with tin, and both times by the same carpenter.",
    "On quiet evenings the owls that nest in the loft can be heard as far as the station.",
)
PROSE = "".join(f"<p>{sentence}</p>" for sentence in SENTENCES)
MENU = "<ul>" + "".join(f"<li><a href=/{n}>Section {n}</a></li>" for n in range(12)) + "</ul>"


@dataclass(frozen=True, slots=True)
class Scored:
    """A page's body with its scored blocks and its units."""

    body: dom.Element
    elements: list[dom.Element]
    page: ScoredPage
    units: Units

    def texts(self) -> list[str]:
        return [" ".join(text.decode().split()) for text in self.page.texts()]

    def text_of(self, unit: int) -> str:
        return " ".join(self.texts()[self.units.first[unit] : self.units.last[unit]])

    def unit(self, text: str) -> int:
        """The outermost unit with exactly this text."""
        return next(unit for unit in range(len(self.units)) if self.text_of(unit) == text)

    def children(self, text: str) -> list[str]:
        return [self.text_of(child) for child in self.units.children[self.unit(text)]]

    def own(self, text: str) -> list[str]:
        ranges = self.units.own[self.unit(text)]
        return [" ".join(self.texts()[first:last]) for first, last, _ in ranges]

    def select(self, scores: dict[str, float] | None = None) -> Selection:
        """The selection by scores: the model's, or these, and 0.95 for all other blocks."""
        page = self.page
        if scores is not None:
            page = replace(page, scores=[scores.get(text, 0.95) for text in self.texts()])
        return select_scored(page, self.units, self.elements)

    def documentation(self) -> Selection:
        return select_documentation(self.page, self.units, self.elements)

    def is_documentation(self, facts: PageFacts | None = None) -> bool:
        return is_documentation(facts or PageFacts(), self.page, self.elements)

    def kept(self, selection: Selection) -> list[str]:
        return [text for text, kept in zip(self.texts(), selection.kept, strict=True) if kept]

    def reasons(self, selection: Selection) -> dict[str, str]:
        """Reasons of the cuts, by the text of the unit."""
        return {" ".join(self.texts()[cut.first : cut.last]): cut.reason for cut in selection.cuts}


def scored(html: str) -> Scored:
    body = dom.body(dom.parse(html))
    assert body is not None
    page = score_page(dom.serialised(body), load_model(), max_blocks=10_000)
    assert page is not None
    return Scored(body, dom.all_elements(body), page, build_units(page))
