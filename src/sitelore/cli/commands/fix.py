"""`sitelore fix`: proposals that fix findings, as patches, as HTML before and after, or as a draft pull request."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.commands.audit import find_audited_run, selected_rules
from sitelore.cli.console import DATA, AsJson, Data, counted, data_console, note, print_json, run_async, visible
from sitelore.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from sitelore.app.audit.fixing import Fixes
    from sitelore.index.embeddings.endpoint import Endpoint
    from sitelore.model.platform.fixes import FixRequest

_EXAMPLES = 3
_REASONS = 10
_LISTED = 50


def fix(
    site: Annotated[
        str | None, typer.Argument(metavar="SITE", help="A site as listed by `sitelore runs`.  [default: the only one]")
    ] = None,
    checkout: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The site's source files. Without it: HTML before and after.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the patches and their summary.")] = Path("fixes"),
    rule: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this rule (or `canonical-*`).")] = None,
    pull_request: Annotated[
        bool, typer.Option("--pull-request", help="Open a draft in the connected repository (`sitelore repository`).")
    ] = False,
    status: Annotated[bool, typer.Option("--status", help="Show the state of the site's pull requests.")] = False,
    words: Annotated[Path | None, typer.Option(metavar="FILE", help="JSON file with your own texts, by finding key.")] = None,
    suggest: Annotated[
        bool, typer.Option("--suggest", help="Let the model of SITELORE_MODEL write missing titles and descriptions.")
    ] = False,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="A run id, a prefix of one, or `latest`.  [default: the site's latest]")
    ] = None,
    as_json: AsJson = False,
    data: Data = DATA,
) -> int:
    """Write patches that fix what an audit has found. The checkout itself is not changed."""
    from sitelore.app.audit.fixing import write_fixes

    if pull_request or status:
        if checkout is not None or words is not None or run is not None or suggest:
            raise UsageError("--pull-request and --status take no --checkout, --words, --suggest or --run")
        return _pull_requests(data, site, selected_rules(rule) if rule else (), open_one=pull_request, as_json=as_json)
    endpoint = _configured_endpoint() if suggest else None
    fixes = run_async(_find_fixes(data, site, run, selected_rules(rule), checkout, _read_texts(words), endpoint))
    names = write_fixes(fixes, out)
    if as_json:
        print_json(_report(fixes, names))
        return 0
    console = data_console()
    proposals, refusals = counted(len(fixes.proposals), "proposal"), counted(len(fixes.refusals), "finding")
    console.print(f"{proposals}; {refusals} without one")
    for line in _overview(fixes):
        console.print(visible(line), markup=False, soft_wrap=True)
    patches = f"{counted(len(fixes.patches), 'patch file')} and " if fixes.patches else ""
    note(f"{patches}{names[-1]} written to {out}")
    if fixes.patches:
        note(f"to apply them: git -C {checkout} apply {out.resolve()}/*.patch")
    return 0


def _overview(fixes: Fixes) -> Iterator[str]:
    """Yield the proposals of each rule with the first places, then the reasons why findings have none."""
    places: dict[str, list[str]] = {}
    for each in fixes.proposals:
        places.setdefault(each.finding.rule, []).append(each.path or each.finding.url)
    for rule, known in places.items():
        yield f"  {len(known):>6,}  {rule}"
        distinct = list(dict.fromkeys(known))
        yield from (f"          {place}" for place in distinct[:_EXAMPLES])
        if len(distinct) > _EXAMPLES:
            yield f"          … and {len(distinct) - _EXAMPLES:,} more"
    # What follows in parentheses differs from page to page.
    reasons = Counter((each.finding.rule, each.reason.partition(" (")[0]) for each in fixes.refusals)
    if reasons:
        yield "without a proposal:"
    for (rule, reason), count in reasons.most_common(_REASONS):
        yield f"  {count:>6,}  {rule}: {reason}"
    if len(reasons) > _REASONS:
        yield f"          … and {counted(len(reasons) - _REASONS, 'more reason')} in the summary"


def _pull_requests(data: Path, site: str | None, rules: Collection[str], *, open_one: bool, as_json: bool) -> int:
    """Open a pull request, or list those of the site. Returns the exit code."""
    requests = run_async(_work_on_requests(data, site, rules, open_one=open_one))
    if as_json:
        print_json(requests)
    else:
        console = data_console()
        for each in requests:
            text = f"{each.state:<12}  {', '.join(each.rules) or 'chosen findings'}  {each.url or each.branch}  {each.error}"
            console.print(visible(text.rstrip()), markup=False, soft_wrap=True)
    if not requests:
        note("no pull requests yet; open one with `sitelore fix --pull-request --rule ID`")
    return 1 if open_one and any(each.error for each in requests) else 0


async def _work_on_requests(data: Path, site: str | None, rules: Collection[str], *, open_one: bool) -> list[FixRequest]:
    from sitelore.app.audit.pull_requests import FixSelection
    from sitelore.audit.fixes.proposals import FIXABLE

    if open_one and not rules:
        raise UsageError("--pull-request needs --rule ID (or a pattern): one pull request fixes one kind of findings")
    async with build_app(data, writing=True) as app:
        run = await find_audited_run(app, data, site, None)
        service = app.fix_service()
        if not open_one:
            listed, _ = await service.requests(run.tenant, run.site, _LISTED, 0)
            return [await service.refresh(run.tenant, run.site, each.id) or each for each in listed]
        # A pattern may name rules without patches as well; a single rule is refused with its reason.
        chosen = tuple(rules) if len(rules) == 1 else tuple(FIXABLE.intersection(rules))
        request = await service.request(run.tenant, run.site, run.site_name, FixSelection(rules=chosen))
        return [await service.claim_and_process(run.tenant, request.id) or request]


async def _find_fixes(
    data: Path,
    site: str | None,
    run: str | None,
    rules: Collection[str],
    checkout: Path | None,
    words: Mapping[str, str],
    endpoint: Endpoint | None,
) -> Fixes:
    from sitelore.app.audit.fixing import base_path_of, find_fixes, generate_texts, read_checkout
    from sitelore.app.audit.phase import audit_run

    async with build_app(data, writing=False) as app:
        result = await audit_run(app, await find_audited_run(app, data, site, run), store=False)
        sources = read_checkout(checkout, base_path_of(result.site)) if checkout is not None else None
        records = result.selected(rules)
        if endpoint is None:
            return await find_fixes(app, result, records, sources, words)
        suggestions, refusals = await generate_texts(app, result, records, words, endpoint)
        known = {**{key: each.text for key, each in suggestions.items()}, **words}
        fixes = await find_fixes(app, result, records, sources, known)
        refused = {each.finding.key for each in refusals}
        fixes.refusals = [*refusals, *(each for each in fixes.refusals if each.finding.key not in refused)]
        fixes.suggestions = suggestions
        return fixes


def _configured_endpoint() -> Endpoint:
    from sitelore.app.audit.suggestions import FORM, llm_endpoint
    from sitelore.app.settings import operator_settings

    settings = operator_settings()
    endpoint = llm_endpoint(settings.model, settings.model_key)
    if endpoint is None:
        raise UsageError(f"--suggest needs a language model; set SITELORE_MODEL={FORM}")
    return endpoint


def _read_texts(path: Path | None) -> Mapping[str, str]:
    if path is None:
        return {}
    try:
        words = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as problem:
        raise UsageError(f"--words: cannot read {path}: {problem}") from problem
    if not isinstance(words, dict) or not all(isinstance(each, str) for each in words.values()):
        raise UsageError(
            f'--words: {path} must be a JSON object of texts by the key of the finding, such as {{"0a1b…": "A mill"}}'
        )
    return words


def _report(fixes: Fixes, names: list[str]) -> dict[str, object]:
    return {
        "proposals": [
            {
                "rule": each.finding.rule,
                "url": each.finding.url,
                "key": each.finding.key,
                "file": each.path or None,
                "mapping": each.mapping or None,
                "before": each.before,
                "after": each.after,
            }
            for each in fixes.proposals
        ],
        "refusals": [
            {"rule": each.finding.rule, "url": each.finding.url, "key": each.finding.key, "reason": each.reason}
            for each in fixes.refusals
        ],
        "files": names,
    }
