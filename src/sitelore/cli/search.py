"""`search`, `reindex` and `deletions`: questions to what was crawled, and the index they are put to."""

from __future__ import annotations

from typing import Annotated

import typer

from sitelore.cli.console import DATA, AsJson, Data

Sites = Annotated[list[str] | None, typer.Option("--site", metavar="NAME", help="Only this site, as `sitelore runs` names it.")]


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in words or as a question.")],
    limit: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="Answers at most.")] = 10,
    site: Sites = None,
    path: Annotated[str, typer.Option(metavar="PATH", help="Only pages at or below this path.")] = "",
    lang: Annotated[list[str] | None, typer.Option(metavar="LANG", help="Only pages in this language (`en`, `de` …).")] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Only page, pdf, docx, pptx, xlsx, doc, text or record.")
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="Only pages dated on or after it (2025-01-31).")] = None,
    until: Annotated[str | None, typer.Option(metavar="DATE", help="Only pages dated before it.")] = None,
    mode: Annotated[
        str, typer.Option(metavar="MODE", help="hybrid, lexical (words alone) or dense (meaning alone).")
    ] = "hybrid",
    flagged: Annotated[
        bool, typer.Option("--flagged/--no-flagged", help="Whether text that reads like orders to a machine may answer.")
    ] = True,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Search what was crawled. The index is brought up to date first."""
    from sitelore.cli.searching import Question, search_data

    question = Question(
        query, limit, tuple(site or ()), path, tuple(lang or ()), tuple(kind or ()), since, until, mode, flagged
    )
    search_data(data, question, as_json=as_json)


def reindex(
    site: Sites = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Drop the index first and make all of it again.")] = False,
    embeddings: Annotated[bool, typer.Option("--embeddings/--no-embeddings", help="Whether to make vectors too.")] = True,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Bring the index up to date: chunks of every page, and vectors where there is a model. Can be stopped and gone on with."""
    from sitelore.cli.searching import reindex_data

    reindex_data(data, tuple(site or ()), fresh=fresh, embeddings=embeddings, as_json=as_json)


def deletions(
    agree: Annotated[bool, typer.Option("--agree", help="They are gone: drop them from the index.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="They are not gone: keep what they last said.")] = False,
    site: Sites = None,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Show pages that look gone, too many at once to be believed, and decide about them."""
    from sitelore.cli.searching import decide_deletions

    decide_deletions(data, tuple(site or ()), agree=agree, keep=keep, as_json=as_json)
