"""What a trained model of the block scorer was made from: digests of its inputs and versions of the tools.

`train_content` stores the record in the model. A test compares it with the working tree, so that feature code, vocabulary,
training scripts or corpus cannot change without a new training. Comments, docstrings and white space do not count.
"""

from __future__ import annotations

import io
import json
import re
import tokenize
from hashlib import file_digest, sha256
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import numpy as np
from bench.content_scores import CORPUS, ROOT

from sitelore.extract.content import vocabulary

SCORING = ROOT / "src" / "sitelore" / "extract" / "native" / "scoring"
SCRIPTS = ("train_content.py", "train_network.py", "pseudo_translation.py")
TOOLS = ("catboost", "numpy", "turbohtml")

_C_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_LINE_STARTS = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING})


def record() -> dict[str, str]:
    """The record of a training that begins now."""
    return {"corpus": corpus_digest(), **code_digests(), **{f"{tool} version": version(tool) for tool in TOOLS}}


def stored_record(model: Path) -> dict[str, str]:
    """The record in a trained model; empty where it has none."""
    with np.load(model, allow_pickle=False) as stored:
        record_: dict[str, str] = json.loads(str(stored["record"])) if "record" in stored else {}
    return record_


def corpus_digest() -> str:
    """SHA-256 of the corpus file."""
    with CORPUS.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def code_digests() -> dict[str, str]:
    """SHA-256 of what computes features and trains on them, by a name that a reader understands."""
    c_sources = sorted(path for path in SCORING.iterdir() if path.suffix in {".c", ".h"})
    return {
        "names of features": _digest(" ".join(vocabulary.FEATURE_NAMES)),
        "vocabulary": _digest(_vocabulary()),
        **{str(path.relative_to(ROOT)): _digest(plain_c(path.read_text("utf-8"))) for path in c_sources},
        **{f"bench/{name}": _digest(plain_python((ROOT / "bench" / name).read_text("utf-8"))) for name in SCRIPTS},
    }


def plain_c(source: str) -> str:
    """C without comments, its white space evened out."""
    return " ".join(_C_COMMENT.sub(" ", source).split())


def plain_python(source: str) -> str:
    """Python without comments and docstrings, its white space evened out."""
    lines = ["", *source.splitlines(keepends=True)]
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type != tokenize.NL]
    tokens = [token for token in tokens if token.type != tokenize.COMMENT or _cut(lines, token)]
    before = tokenize.ENCODING
    for token, after in pairwise(tokens):
        if token.type == tokenize.STRING and before in _LINE_STARTS and after.type == tokenize.NEWLINE:
            _cut(lines, token)
        before = token.type
    return " ".join("".join(lines).split())


def _cut(lines: list[str], token: tokenize.TokenInfo) -> bool:
    """Blank out a token in its lines. False, so that a filter drops it."""
    (first, begin), (last, end) = token.start, token.end
    for at in range(first, last + 1):
        line = lines[at]
        low, high = begin if at == first else 0, end if at == last else len(line)
        lines[at] = line[:low] + " " * (high - low) + line[high:]
    return False


def _vocabulary() -> str:
    values = {name: value for name, value in vars(vocabulary).items() if name.isupper()}
    return repr([(name, _ordered(values[name])) for name in sorted(values)])


def _ordered(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    return sorted(value.items()) if isinstance(value, dict) else value


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
