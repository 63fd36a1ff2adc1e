"""Imports obey the rules in docs/architecture.md."""

from __future__ import annotations

import ast

from tests.conventions.project import imports, inside, is_standard, packages_by_layer, pairs, source_files, tree_of

ENTRY_POINT = "__main__"
"""`python -m sitelore` starts the command line. It is not a package and may import only `cli`."""


def layer_numbers() -> dict[str, int]:
    layers = packages_by_layer()
    return {package: len(layers) - height for height, packages in enumerate(layers) for package in packages}


def test_every_import_goes_downwards() -> None:
    layer = layer_numbers()
    wrong = [
        str(statement)
        for statement in imports()
        if statement.target is not None
        and statement.package not in {ENTRY_POINT, statement.target}
        and layer[statement.target] >= layer[statement.package]
    ]
    assert wrong == []


def test_the_entry_point_imports_only_the_command_line() -> None:
    assert {statement.target for statement in imports() if statement.package == ENTRY_POINT and statement.target} <= {"cli"}


def test_a_restricted_package_is_imported_only_by_its_importers() -> None:
    importers = pairs("importers", ":")
    assert importers["store"] == {"app"}
    wrong = [
        str(statement)
        for statement in imports()
        if statement.target in importers
        and statement.package != statement.target
        and statement.package not in importers[statement.target]
    ]
    assert wrong == []


def test_every_third_party_library_is_imported_only_where_listed() -> None:
    allowed = pairs("libraries", ":")
    wrong = []
    for statement in imports():
        places = allowed.get(statement.top)
        if places is None:
            if statement.target is None and statement.top != "sitelore" and not is_standard(statement.module):
                wrong.append(f"{statement}: the library is not listed in the block `libraries`")
        elif statement.file not in places and statement.package not in places:
            wrong.append(f"{statement}, which only {', '.join(sorted(places))} may import")
    assert wrong == []


def test_model_and_ports_use_only_the_standard_library_and_the_url_parser() -> None:
    allowed = {("model/url.py", "ada_url"), ("model/identity.py", "ada_url")}
    foreign = {
        (statement.file, statement.top)
        for statement in imports()
        if statement.package in {"model", "ports"} and statement.target is None and not is_standard(statement.module)
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
