"""Title, commit message and description of a pull request: the changes, their reasons, the evidence and the checks.

Texts of pages are quoted as code, so that nothing in them is a mention, a link, a closing keyword or markup for the host.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from sitelore.audit.catalogue import RULES
from sitelore.audit.fixes.proposals import Proposal

_MAX_CHARS = 60_000
"""GitHub accepts 65,536 characters."""
_MAX_EVIDENCE_CHARS = 600
_MAX_TITLE_CHARS = 120


def title_of(proposals: Sequence[Proposal]) -> str:
    """`Fix 3 findings: Broken internal link`."""
    rules = Counter(proposal.finding.rule for proposal in proposals)
    names = ", ".join(RULES[rule].title for rule, _ in rules.most_common())
    count = len(proposals)
    text = f"Fix {count} finding{'s' if count != 1 else ''}: {names}"
    return text if len(text) <= _MAX_TITLE_CHARS else f"{text[: _MAX_TITLE_CHARS - 1]}…"


def commit_message(proposals: Sequence[Proposal]) -> str:
    """The title, and the pages with the rules that found something on them."""
    lines = sorted({f"- {proposal.finding.rule}: {_one_line(proposal.finding.url)}" for proposal in proposals})
    return "\n".join([title_of(proposals), "", *lines, ""])


def description_of(proposals: Sequence[Proposal], left_out: int) -> str:
    """The description. `left_out`: findings with a patch that did not fit into this pull request."""
    parts = list(_introduction(proposals, left_out))
    closing = "\n\n".join(_closing(proposals))
    size = sum(map(len, parts)) + len(closing)
    for number, proposal in enumerate(proposals):
        part = "\n\n".join(_finding(proposal))
        if size + len(part) > _MAX_CHARS:
            parts.append(f"… and {len(proposals) - number:,} more findings; the commit has their changes.")
            break
        parts.append(part)
        size += len(part) + 2
    text = "\n\n".join([*parts, closing])
    # Bytes of a source that are not UTF-8 are surrogates, which JSON cannot hold.
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _introduction(proposals: Sequence[Proposal], left_out: int) -> Iterator[str]:
    files = sorted({proposal.path for proposal in proposals})
    yield f"An audit of the site found problems that this change fixes, in {len(files)} file{'s' if len(files) != 1 else ''}."
    for rule_id in sorted({proposal.finding.rule for proposal in proposals}):
        rule = RULES[rule_id]
        yield f"**{rule.title}** (`{rule_id}`, {rule.severity.value}). {rule.explanation} {rule.fix}"
    if left_out:
        yield f"{left_out:,} more findings have a patch. They follow after this pull request is merged."


def _finding(proposal: Proposal) -> Iterator[str]:
    finding = proposal.finding
    yield f"### `{finding.rule}` on {_code(finding.url)}"
    yield f"- file: {_code(proposal.path)} ({proposal.mapping})\n- finding: `{finding.key}`"
    yield _fenced("diff", f"{_marked('-', proposal.before)}\n{_marked('+', proposal.after)}")
    evidence = json.dumps(finding.evidence, ensure_ascii=False, default=str, indent=2)
    if len(evidence) > _MAX_EVIDENCE_CHARS:
        evidence = f"{evidence[:_MAX_EVIDENCE_CHARS]}\n…"
    yield f"<details><summary>Evidence</summary>\n\n{_fenced('json', evidence)}\n\n</details>"


def _closing(proposals: Sequence[Proposal]) -> Iterator[str]:
    checked = sum(proposal.is_checked for proposal in proposals)
    yield "## How it was checked"
    if checked:
        yield f"The same rule ran on the changed file and does not find it any more ({checked} of {len(proposals)})."
    if checked < len(proposals):
        yield (
            f"Checked on the source only ({len(proposals) - checked} of {len(proposals)}): the generator of the site was not "
            "run. The next crawl shows whether the finding is gone."
        )
    yield "Every other byte of the files stays. Nothing is merged automatically; commits of other people on this branch stay."
    yield "To refuse: close this pull request; it is not proposed again. To keep a finding: ignore it, or switch its rule off."


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _code(text: str) -> str:
    """Text as inline code, with backticks in it escaped."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if longest else ""
    return f"{fence}{padding}{_one_line(text)}{padding}{fence}"


def _fenced(language: str, text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _marked(sign: str, text: str) -> str:
    return "\n".join(f"{sign}{line}" for line in text.splitlines())
