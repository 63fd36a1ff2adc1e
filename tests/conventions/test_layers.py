"""Imports obey the rules in docs/architecture.md."""

from __future__ import annotations

import ast

from tests.conventions.project import imports, inside, is_standard, packages_by_layer, pairs, source_files, tree_of

ENTRY_POINTS = {"__main__": {"cli"}, "__init__": {"api", "model"}}
"""What `python -m sitelore` and `import sitelore` may import; neither is a layer."""


def layer_numbers() -> dict[str, int]:
    layers = packages_by_layer()
    return {package: len(layers) - height for height, packages in enumerate(layers) for package in packages}


def test_every_import_goes_downwards() -> None:
    layer = layer_numbers()
    wrong = [
        str(statement)
        for statement in imports()
        if statement.target is not None
        and statement.package not in {*ENTRY_POINTS, statement.target}
        and layer[statement.target] >= layer[statement.package]
    ]
    assert wrong == []


def test_entry_points_import_what_they_open_and_nothing_else() -> None:
    for entry, allowed in ENTRY_POINTS.items():
        assert {statement.target for statement in imports() if statement.file == f"{entry}.py" and statement.target} == allowed


def test_nothing_imports_the_public_package_for_its_functions() -> None:
    layers = {package for layer in packages_by_layer() for package in layer}
    assert [str(statement) for statement in imports() if statement.target is not None and statement.target not in layers] == []


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
    allowed = {("model/url.py", "ada_url")}
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
