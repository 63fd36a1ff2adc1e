"""The diagrams of the documentation agree with the code."""

from __future__ import annotations

import inspect
import re

from tests.conventions.project import SRC, packages_by_layer, pairs

import sitelore
from sitelore.model import errors
from sitelore.model.states import RUN_TRANSITIONS, URL_TRANSITIONS, RunState, UrlState


def test_the_diagram_of_url_states_equals_the_transitions() -> None:
    assert pairs("url-transitions", "->") == {state.value: _values(targets) for state, targets in URL_TRANSITIONS.items()}


def test_the_diagram_of_run_states_equals_the_transitions() -> None:
    assert pairs("run-transitions", "->") == {state.value: _values(targets) for state, targets in RUN_TRANSITIONS.items()}


def test_every_state_is_initial_or_reachable() -> None:
    urls = set().union(*URL_TRANSITIONS.values()) | {UrlState.DISCOVERED}
    runs = set().union(*RUN_TRANSITIONS.values()) | {RunState.QUEUED}
    assert urls == set(UrlState)
    assert runs == set(RunState)


def test_the_import_rule_lists_every_package() -> None:
    assert _layered_packages() == _folders() | {
        "ports",
        "platform_ports",
        "json_client",
        "metrics",
        "extras",
        "times",
        "background",
        "api",
    }


def test_the_package_map_lists_every_package() -> None:
    mapped = re.findall(r"^    (\w+)(?:/|\.py) ", sitelore.__doc__ or "", re.MULTILINE)
    assert len(mapped) == len(set(mapped))
    assert set(mapped) == _folders() | {"ports", "api"}


def test_the_error_tree_lists_the_error_classes() -> None:
    listed: dict[str, str | None] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^((?:[│├└─ ]{4})*)([A-Z]\w+)(?:\s{2,}.*)?$", line)
        if not match:
            continue
        depth = len(match[1]) // 4
        above = [*above[:depth], match[2]]
        listed[match[2]] = above[depth - 1] if depth else None
    classes = {name: cls for name, cls in vars(errors).items() if inspect.isclass(cls) and cls.__module__ == errors.__name__}
    assert listed == {name: _parent(cls) for name, cls in classes.items()}


def _parent(cls: type) -> str | None:
    return None if cls.__base__ in {Exception, None} else cls.__base__.__name__


def _values(states: frozenset[UrlState] | frozenset[RunState]) -> frozenset[str]:
    return frozenset(state.value for state in states)


def _layered_packages() -> set[str]:
    packages = [package for layer in packages_by_layer() for package in layer]
    assert len(packages) == len(set(packages)), "a package is listed twice"
    return set(packages)


def _folders() -> set[str]:
    return {path.parent.name for path in SRC.glob("*/__init__.py")}
