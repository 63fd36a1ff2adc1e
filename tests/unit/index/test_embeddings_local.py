"""The local embedding model, on the CPU."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from sitelore.index.embeddings.local import LocalEmbedder, ModelFiles, find_model
from sitelore.model.errors import UsageError

TEXTS = (
    "How to restart a failed container in a pod.",
    "The kubelet restarts containers that have crashed, according to the restart policy.",
    "Bake the apple pie for forty minutes, until the crust is golden.",
    "Preheat the oven and prepare the dough with butter and flour.",
)


@pytest.fixture(scope="module")
def files() -> ModelFiles:
    try:
        return find_model()
    except UsageError as problem:
        pytest.skip(f"the extra `embeddings` is not installed: {problem}")


@pytest.fixture(scope="module")
def embedder(files: ModelFiles) -> LocalEmbedder:
    return LocalEmbedder(files)


def halves(vector: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.frombuffer(vector, dtype="<f2").astype(np.float32)


async def test_related_texts_are_nearer_than_unrelated_ones(embedder: LocalEmbedder) -> None:
    pods, kubelet, pie, dough = map(halves, await embedder.embed(TEXTS))
    assert pods @ kubelet > max(pods @ pie, pods @ dough, kubelet @ pie, kubelet @ dough) + 0.2
    assert pie @ dough > max(pods @ pie, kubelet @ dough) + 0.2


async def test_a_question_finds_its_passage(embedder: LocalEmbedder) -> None:
    passages = np.stack([halves(vector) for vector in await embedder.embed(TEXTS)])
    question = np.frombuffer(await embedder.embed_query("what temperature for pastry?"), dtype="<f4")
    assert question.shape == (384,)
    assert abs(float(np.linalg.norm(question)) - 1) < 1e-5
    assert set(np.argsort(passages @ question)[-2:]) == {2, 3}


async def test_a_batch_is_its_texts_one_by_one_and_twice_the_same(files: ModelFiles, embedder: LocalEmbedder) -> None:
    together = await embedder.embed(TEXTS)
    alone = [(await embedder.embed([text]))[0] for text in reversed(TEXTS)]
    assert together == list(reversed(alone))
    other = LocalEmbedder(files)
    assert await other.embed(TEXTS[:1]) == together[:1]
    assert other.model == embedder.model
    await other.close()


async def test_every_vector_has_unit_length(embedder: LocalEmbedder) -> None:
    odd = ["", " ", "\x00", "\ud800 half a pair", "x" * 300_000, " " * 300_000, "\u200b\u202e", "語" * 2000, "🏳️‍🌈" * 500]
    for vector in await embedder.embed(odd):
        assert len(vector) == 2 * 384
        assert abs(float(np.linalg.norm(halves(vector))) - 1) < 1e-2


async def test_a_text_is_cut_at_the_limit_of_the_model(files: ModelFiles) -> None:
    short = LocalEmbedder(ModelFiles(files.model, files.tokenizer, max_tokens=8))
    first, second = await short.embed(["one two three four five six seven eight", "one two three four five six and no more"])
    assert first == second
    assert short.model != LocalEmbedder(files).model


def test_the_name_of_a_model_is_that_of_its_files(files: ModelFiles, tmp_path: Path) -> None:
    elsewhere = tmp_path / "model"
    elsewhere.mkdir()
    (elsewhere / "model.onnx").symlink_to(files.model)
    (elsewhere / "tokenizer.json").symlink_to(files.tokenizer)
    files_found = find_model(elsewhere)
    assert (files_found.max_tokens, files_found.first_token, files_found.query_prompt) == (256, False, "")
    assert files_found.name == find_model(elsewhere).name
    (elsewhere / "tokenizer.json").unlink()
    (elsewhere / "tokenizer.json").write_text(files.tokenizer.read_text() + "\n")
    assert find_model(elsewhere).name != files_found.name


def test_prefixes_in_the_model_configuration_are_used(files: ModelFiles, tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.onnx").symlink_to(files.model)
    (tmp_path / "tokenizer.json").symlink_to(files.tokenizer)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 512}')
    prompts = {"prompts": {"query": "query: ", "passage": "passage: "}}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    files_found = find_model(tmp_path)
    assert (files_found.max_tokens, files_found.first_token) == (512, True)
    assert (files_found.query_prompt, files_found.passage_prompt) == ("query: ", "passage: ")
    (tmp_path / "sentence_bert_config.json").write_text("[" * 5000)
    (tmp_path / "config_sentence_transformers.json").write_text('{"prompts": {"query": 3}}')
    assert (find_model(tmp_path).max_tokens, find_model(tmp_path).query_prompt) == (256, "")


def test_the_error_for_a_missing_model_names_the_file(
    files: ModelFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"has no model\.onnx and no tokenizer\.json"):
        find_model(tmp_path)
    with pytest.raises(UsageError, match="is not a directory"):
        find_model(tmp_path / "none")
    monkeypatch.setattr("sitelore.index.embeddings.local.find_spec", lambda name: None)
    with pytest.raises(
        UsageError, match=r"onnxruntime, tokenizers, onnx not installed; \S+ -m pip install 'sitelore\[embeddings\]'"
    ):
        find_model()


async def test_weights_with_an_unknown_digest_are_not_used(files: ModelFiles, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(files.model.read_bytes() + b"more")
    other = dataclasses.replace(files, model=tmp_path / "model.onnx")
    with pytest.raises(UsageError, match=r"model\.onnx has an unexpected checksum"):
        await LocalEmbedder(other).embed_query("anything")


async def test_a_broken_model_gives_a_one_line_error(tmp_path: Path, files: ModelFiles) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UsageError, match="cannot be loaded"):
        await LocalEmbedder(find_model(tmp_path)).embed_query("anything")
