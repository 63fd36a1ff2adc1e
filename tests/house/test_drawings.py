"""Drawings are read and compared with the code, so that they cannot lie."""

from __future__ import annotations

import inspect
import re

from tests.house.house import SRC, pairs, rooms_by_level

import sitelore
from sitelore.model import errors
from sitelore.model.states import RUN_MOVES, URL_MOVES, RunState, UrlState


def test_the_drawing_of_url_states_is_url_moves() -> None:
    assert pairs("url-moves", "->") == {state.value: _values(moves) for state, moves in URL_MOVES.items()}


def test_the_drawing_of_run_states_is_run_moves() -> None:
    assert pairs("run-moves", "->") == {state.value: _values(moves) for state, moves in RUN_MOVES.items()}


def test_every_state_is_reached_or_begins() -> None:
    urls = set().union(*URL_MOVES.values()) | {UrlState.DISCOVERED}
    runs = set().union(*RUN_MOVES.values()) | {RunState.QUEUED}
    assert urls == set(UrlState)
    assert runs == set(RunState)


def test_the_rooms_drawn_are_the_folders_there_are() -> None:
    assert _rooms_drawn() == _folders() | {"ports", "json_client", "api"}


def test_the_map_in_the_package_lists_the_rooms_there_are() -> None:
    mapped = re.findall(r"^    (\w+)(?:/|\.py) ", sitelore.__doc__ or "", re.MULTILINE)
    assert len(mapped) == len(set(mapped))
    assert set(mapped) == _folders() | {"ports", "api"}


def test_the_error_tree_is_the_error_classes() -> None:
    drawn: dict[str, str | None] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^((?:[│├└─ ]{4})*)([A-Z]\w+)(?:\s{2,}.*)?$", line)
        if not found:
            continue
        depth = len(found[1]) // 4
        above = [*above[:depth], found[2]]
        drawn[found[2]] = above[depth - 1] if depth else None
    classes = {name: cls for name, cls in vars(errors).items() if inspect.isclass(cls) and cls.__module__ == errors.__name__}
    assert drawn == {name: _parent(cls) for name, cls in classes.items()}


def _parent(cls: type) -> str | None:
    return None if cls.__base__ in {Exception, None} else cls.__base__.__name__


def _values(states: frozenset[UrlState] | frozenset[RunState]) -> frozenset[str]:
    return frozenset(state.value for state in states)


def _rooms_drawn() -> set[str]:
    rooms = [room for line in rooms_by_level() for room in line]
    assert len(rooms) == len(set(rooms)), "a room is drawn twice"
    return set(rooms)


def _folders() -> set[str]:
    return {path.parent.name for path in SRC.glob("*/__init__.py")}
