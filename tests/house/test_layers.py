"""Imports must agree with the drawing in docs/architecture.md."""

from __future__ import annotations

import ast

from tests.house.house import imports, inside, is_standard, pairs, rooms_by_level, source_files, tree_of

ENTRY_POINTS = {"__main__": {"cli"}, "__init__": {"api", "model"}}
"""What `python -m sitelore` and `import sitelore` may import; neither is a layer."""


def levels() -> dict[str, int]:
    drawn = rooms_by_level()
    return {room: len(drawn) - height for height, rooms in enumerate(drawn) for room in rooms}


def test_every_import_goes_downwards() -> None:
    level = levels()
    wrong = [
        str(found)
        for found in imports()
        if found.target is not None
        and found.room not in {*ENTRY_POINTS, found.target}
        and level[found.target] >= level[found.room]
    ]
    assert wrong == []


def test_entry_points_import_what_they_open_and_nothing_else() -> None:
    for entry, allowed in ENTRY_POINTS.items():
        assert {found.target for found in imports() if found.file == f"{entry}.py" and found.target} == allowed


def test_nothing_imports_the_public_package_for_its_functions() -> None:
    layers = {layer for line in rooms_by_level() for layer in line}
    assert [str(found) for found in imports() if found.target is not None and found.target not in layers] == []


def test_only_its_owner_imports_a_room_with_one_door() -> None:
    owners = pairs("owners", ":")
    assert owners["store"] == {"app"}
    wrong = [
        str(found)
        for found in imports()
        if found.target in owners and found.room != found.target and found.room not in owners[found.target]
    ]
    assert wrong == []


def test_every_third_party_library_enters_by_a_room_named_for_it() -> None:
    doors = pairs("libraries", ":")
    wrong = []
    for found in imports():
        named = doors.get(found.top)
        if named is None:
            if found.target is None and found.top != "sitelore" and not is_standard(found.module):
                wrong.append(f"{found}, which has no line in the block `libraries`")
        elif found.file not in named and found.room not in named:
            wrong.append(f"{found}, which may be imported in {', '.join(sorted(named))} alone")
    assert wrong == []


def test_model_and_ports_use_the_standard_library_alone_but_for_the_url_parser() -> None:
    allowed = {("model/url.py", "ada_url"), ("model/identity.py", "ada_url")}
    foreign = {
        (found.file, found.top)
        for found in imports()
        if found.room in {"model", "ports"} and found.target is None and not is_standard(found.module)
    }
    assert foreign <= allowed


def test_the_environment_is_read_in_one_file() -> None:
    wrong = [
        f"{inside(path)}:{node.lineno}"
        for path in source_files()
        if inside(path) != "app/settings.py"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute | ast.ImportFrom) and _reads_environment(node)
    ]
    assert wrong == []


def _reads_environment(node: ast.Attribute | ast.ImportFrom) -> bool:
    names = {"environ", "environb", "getenv", "getenvb"}
    if isinstance(node, ast.Attribute):
        return node.attr in names and isinstance(node.value, ast.Name) and node.value.id == "os"
    return node.module == "os" and any(alias.name in names for alias in node.names)
