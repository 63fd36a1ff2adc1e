"""The packaged model was trained with the features, the vocabulary, the scripts and the corpus of this working tree."""

from __future__ import annotations

import re
from pathlib import Path

from bench.content_scores import CORPUS, ROOT
from bench.training_record import TOOLS, code_digests, corpus_digest, plain_c, plain_python, stored_record
from tests.support.corpora import present

from sitelore.extract import content

PACKAGED = Path(content.__file__).with_name("content_trees.npz")


def test_feature_code_vocabulary_and_training_scripts_are_those_the_model_was_trained_with() -> None:
    stored, present = stored_record(PACKAGED), code_digests()
    changed = [name for name in present if stored.get(name) != present[name]]
    changed += [f"{name} (removed)" for name in stored if "/" in name and name not in present]
    assert not changed, f"changed since {PACKAGED.name} was trained: {', '.join(changed)}. Run `make train-content`."


def test_the_corpus_is_the_one_the_model_was_trained_on() -> None:
    digest = stored_record(PACKAGED)["corpus"]
    assert re.fullmatch("[0-9a-f]{64}", digest)
    present(CORPUS)
    assert digest == corpus_digest(), (
        f"{CORPUS.name} is not the corpus that {PACKAGED.name} was trained on. Run `make train-content`."
    )


def test_the_record_names_the_versions_of_the_tools_and_the_makefile_installs_that_catboost() -> None:
    stored = stored_record(PACKAGED)
    assert all(re.match(r"\d+\.\d+", stored[f"{tool} version"]) for tool in TOOLS)
    assert f"catboost=={stored['catboost version']}" in (ROOT / "Makefile").read_text("utf-8").split()


def test_comments_docstrings_and_white_space_do_not_count_as_changes() -> None:
    code = 'X = 1\n\n\ndef f(a: str) -> str:\n    b = "text"\n    return f"{a}#{b}"\n'
    commented = code.replace("X = 1", '"""Module."""\nX = 1  # one\n"""About X."""')
    commented = commented.replace("    b =", '    """Say.\n\n    More.\n    """\n    # why\n    b =')
    assert commented.count('"""') == 6
    assert plain_python(commented) == plain_python(code)
    assert plain_python(code) != plain_python(code.replace("text", "other"))
    assert plain_c("int a; /* one\n two */\nint b;") == plain_c("int a;\n\nint b;")
    assert plain_c("int a;") != plain_c("int b;")
