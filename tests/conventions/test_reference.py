"""Every setting, option, route, field, metric and error is documented in docs/reference/."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from inspect import Parameter, signature
from typing import Any

import pytest
from tests.conventions.project import DOCS, ROOT, SRC

import sitelore
from sitelore.export.formats import FORMATS
from sitelore.model import errors
from sitelore.model.response import Failure
from sitelore.model.settings import CrawlSettings, Overrides
from sitelore.model.states import Proof, RunState, SkipReason, UrlState


def page(name: str) -> str:
    return (DOCS / "reference" / name).read_text(encoding="utf-8")


def missing(name: str, words: Iterator[str] | list[str]) -> list[str]:
    """Words that are not on the page as code, alone or as a whole word of longer code."""
    code = "\n".join(a or b for a, b in re.findall(r"^```\w*\n(.*?)^```$|`([^`\n]+)`", page(name), re.MULTILINE | re.DOTALL))
    return [word for word in words if not re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", code)]


def test_the_check_of_pages_looks_for_whole_words() -> None:
    assert missing("states.md", ["VISITED", "VISIT", "robots", "robot"]) == ["VISIT", "robot"]


@pytest.mark.parametrize("words", [UrlState, SkipReason, RunState, Proof])
def test_every_state_and_reason_is_explained(words: Any) -> None:
    assert missing("states.md", [word.value for word in words]) == []


def test_every_failure_is_explained() -> None:
    assert missing("errors.md", [failure.value for failure in Failure]) == []


def test_every_exception_has_its_exit_code_in_the_table() -> None:
    rows = {row[1].strip(): row[3] for line in page("errors.md").splitlines() if (row := line.split("|"))[3:]}
    classes = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, errors.SiteloreError)]
    wrong = [cls.__name__ for cls in classes if f"`{cls.__name__}`" not in rows.get(str(cls.exit_code), "")]
    assert wrong == []


def test_every_setting_is_explained() -> None:
    assert missing("settings.md", list(_names(CrawlSettings()))) == []


@pytest.mark.parametrize("name", [field.name for field in fields(Overrides)])
def test_every_rule_of_a_domain_is_explained(name: str) -> None:
    assert missing("settings.md", [name]) == []


def _names(settings: Any, above: str = "") -> Iterator[str]:
    """Every field; those of a group under the group's name: `pace.delay_s`."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if is_dataclass(value):
            yield from _names(value, f"{above}{field.name}.")
        else:
            yield f"{above}{field.name}"


def test_the_python_api_is_explained() -> None:
    arguments = [
        name for name, parameter in signature(sitelore.Crawler).parameters.items() if parameter.kind is Parameter.KEYWORD_ONLY
    ]
    members = [name for name, value in vars(sitelore.Crawler).items() if not name.startswith("_") and callable(value)]
    named = [field.name for cls in (sitelore.Page, sitelore.SearchHit) for field in fields(cls)]
    assert missing("python.md", [*sitelore.__all__, *arguments, *named]) == []
    assert [name for name in members if f"`{name}(" not in page("python.md")] == []


def test_every_command_and_option_is_explained() -> None:
    assert missing("cli.md", list(_commands_and_options())) == []


def _commands_and_options() -> Iterator[str]:
    import typer

    from sitelore.cli.main import COMMANDS, parser

    yield from _of(typer.main.get_command(parser(COMMANDS)), "sitelore")


def _of(command: Any, name: str) -> Iterator[str]:
    for parameter in command.params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            yield from (option for option in parameter.opts if option.startswith("--") and option != "--help")
    for word, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            yield f"{name} {word}"
            yield from _of(child, f"{name} {word}")


def test_every_export_format_is_explained() -> None:
    assert missing("cli.md", list(FORMATS)) == []


def test_every_route_is_explained_with_its_parameters() -> None:
    from sitelore.serve.app import DESCRIPTION, ROUTERS

    routes: list[Any] = [route for router in ROUTERS for route in router.routes]
    expected = [f"{method} {route.path}" for route in routes for method in route.methods] + [f"GET {DESCRIPTION}"]
    text = page("api.md")
    assert [route for route in expected if f"`{route}`" not in text] == []
    parameters = {field.alias for route in routes for field in (*route.dependant.query_params, *route.dependant.header_params)}
    assert missing("api.md", sorted(parameters)) == []


def test_every_field_of_a_request_and_of_an_answer_is_explained() -> None:
    import msgspec

    from sitelore.serve import schemas
    from sitelore.serve.run_requests import QuickCrawlRequest, RunRequest, RunSettings

    request_fields = {
        field.alias or name
        for model in (RunRequest, QuickCrawlRequest, RunSettings)
        for name, field in model.model_fields.items()
    }
    response_fields = {
        field
        for schema in vars(schemas).values()
        if isinstance(schema, type) and issubclass(schema, msgspec.Struct) and schema is not schemas.RedirectHop
        for field in schema.__struct_encode_fields__
    }
    assert missing("api.md", sorted(request_fields | response_fields)) == []


def test_every_problem_is_explained_with_its_status() -> None:
    from sitelore.serve.problems import KINDS

    text = page("api.md")
    assert [kind.code for kind in KINDS if f"| `{kind.code}` | {kind.status} |" not in text] == []


def test_every_metric_is_explained_with_its_kind() -> None:
    import sitelore.serve.app  # noqa: F401  # a server's own metrics are registered with its routes
    from sitelore.metrics import REGISTRY

    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", page("metrics.md"), re.MULTILINE)
    families = [(family.name + "_total" * (family.type == "counter"), family.type) for family in REGISTRY.collect()]
    assert sorted(rows) == sorted(families)


def test_every_variable_of_the_environment_is_explained() -> None:
    source = (SRC / "app" / "settings.py").read_text(encoding="utf-8")
    assert missing("settings.md", sorted(set(re.findall(r"SITELORE_[A-Z_]*[A-Z]", source)))) == []


def test_every_name_in_the_glossary_exists_in_its_module() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)` `([\w.]+)`", text)
    assert len(named) > 30
    assert [(file, name) for file, name in named if not _defines(file, name)] == []


def _defines(file: str, name: str) -> bool:
    module: Any = importlib.import_module(f"sitelore.{file.removesuffix('.py').replace('/', '.')}")
    first, _, attribute = name.partition(".")
    return hasattr(module, first) and (not attribute or hasattr(getattr(module, first), attribute))


def test_every_module_that_source_and_docs_name_exists() -> None:
    packages = "|".join(sorted(path.name for path in SRC.iterdir() if path.is_dir() and path.name != "__pycache__"))
    named = re.compile(rf"(?<![\w/.-])((?:{packages})/[\w/]+\.py)")
    pages = [path for path in DOCS.rglob("*.md") if path.parent.name != "decisions"]  # records keep the paths of their time
    pages += ROOT.glob("*.md")
    wrong = {
        f"{path.name}: {name}"
        for path in (*SRC.rglob("*.py"), *pages)
        for name in named.findall(path.read_text(encoding="utf-8"))
        if not (SRC / name).is_file()
    }
    assert wrong == set()
