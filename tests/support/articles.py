"""A generated site of articles with enough text for several chunks; equal arguments give equal bytes."""

from __future__ import annotations

import itertools
import random

from tests.support.http_server import Answer, Pages, site

NOUNS = ("harbour", "lantern", "orchard", "granite", "ferry", "copper", "meadow", "signal", "winter", "garden")
_VERBS = ("keeps", "carries", "repairs", "paints", "measures", "follows", "opens", "answers", "crosses", "counts")


def paragraph(topic: str, number: int, sentences: int = 12) -> str:
    """Generate a paragraph; equal arguments give equal text."""
    chance = random.Random(f"{topic} {number}")
    pick = chance.choice
    return " ".join(
        f"The {pick(NOUNS)} of {topic} {pick(_VERBS)} {pick(NOUNS)} number {chance.randint(10, 99)}." for _ in range(sentences)
    )


def article(topic: str, links: tuple[str, ...] = (), *, edited: str = "", head: str = "") -> Answer:
    """A page of four parts with four paragraphs each; `edited` is added to the first paragraph."""
    sections = "".join(
        f"<h2>Part {number} of {topic}</h2>" + "".join(f"<p>{paragraph(topic, 10 * number + at)}</p>" for at in range(4))
        for number in range(4)
    )
    body = sections.replace("</p>", f" {edited}</p>", 1) if edited else sections
    items = "".join(f'<li><a href="{href}">about {href[1:]}</a></li>' for href in links)
    text = (
        f'<!doctype html><html lang="en"><head><title>All about {topic}</title>{head}</head>'
        f"<body><main><h1>All about {topic}</h1>{body}<ul>{items}</ul></main></body></html>"
    )
    return Answer(body=text.encode())


def topics(count: int) -> list[str]:
    """This many distinct made-up words."""
    letters = "bcdfghklmnprstvz"
    words = (
        f"{a}{b}{c}{end}" for a, b, c, end in itertools.product(letters, "aeiou", letters, ("lder", "spen", "irch", "edar"))
    )
    return list(itertools.islice(words, count))


def articles(names: list[str], changes: dict[str, Answer] | None = None) -> Pages:
    """A home page that links to an article on each topic; `changes` replaces some of the pages."""
    pages = {"/": article("everything", tuple(f"/{name}" for name in names))}
    pages |= {f"/{name}": article(name, ("/",)) for name in names}
    return site({**pages, **(changes or {})})
