"""Rewrites the bundled ONNX model so that the CPU computes its matrix products in int8, and keeps the result in a directory.

The model stores its weights as int8 and casts them to fp32 for every product. Constants are folded first, so that onnxruntime's
quantisation finds the weights; per column, its codes are those of the file. Attention masks are removed: texts are embedded one
by one, so no token is padding.
"""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_LOG = logging.getLogger(__name__)

_ORT_LOG_ERRORS = 3


def quantised_model(model: Path, name: str, cache: Path) -> bytes:
    """The model with int8 products: made once for each name, in a few seconds; each time where `cache` is not writable."""
    cached = cache / f"{name}.onnx"
    try:
        return cached.read_bytes()
    except OSError:
        _LOG.info("quantising the embedding model into %s", cached)
    with tempfile.TemporaryDirectory() as scratch:
        quantised = _quantise(model, Path(scratch))
    with contextlib.suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=cache)
        with os.fdopen(handle, "wb") as file:
            file.write(quantised)
        Path(temporary).replace(cached)  # at once: another process may be reading it
    return quantised


def _quantise(model: Path, scratch: Path) -> bytes:
    # Imported here: slow, and needed once.
    import onnx  # noqa: PLC0415
    import onnxruntime  # noqa: PLC0415
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415

    folded, quantised = scratch / "folded.onnx", scratch / "quantised.onnx"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ORT_LOG_ERRORS
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folded)
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    unmasked = onnx.load(folded)
    _remove_masks(unmasked.graph)
    onnx.save(unmasked, folded)
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)  # it advises preparations on the root logger
    try:
        quantize_dynamic(folded, quantised, op_types_to_quantize=["MatMul"], per_channel=True, weight_type=QuantType.QInt8)
    finally:
        root.setLevel(level)
    return quantised.read_bytes()


def _remove_masks(graph: Any) -> None:
    """Let attention skip the sum with the mask before its softmax, and the check for rows that are masked as a whole."""
    made_by = {output: node for node in graph.node for output in node.output}
    replaced: dict[str, str] = {}
    for node in graph.node:
        source = made_by.get(node.input[0]) if node.input else None
        if source is None:
            continue
        if node.op_type == "Softmax" and source.op_type == "Add":
            scores = [name for name in source.input if name in made_by and made_by[name].op_type == "MatMul"]
            if len(scores) == 1:
                replaced[source.output[0]] = scores[0]
        elif node.op_type == "Where" and source.op_type == "IsNaN" and source.input[0] == node.input[2]:
            replaced[node.output[0]] = node.input[2]
    for node in graph.node:
        for at, name in enumerate(node.input):
            node.input[at] = replaced.get(name, name)
    _keep_used(graph)


def _keep_used(graph: Any) -> None:
    """Remove nodes, inputs and constants that no output depends on."""
    needed = {output.name for output in graph.output}
    nodes = []
    for node in reversed(graph.node):  # in topological order
        if needed.intersection(node.output):
            needed.update(node.input)
            nodes.append(node)
    _replace(graph.node, reversed(nodes))
    for values in (graph.input, graph.initializer):
        _replace(values, [value for value in values if value.name in needed])


def _replace(repeated: Any, values: Iterable[Any]) -> None:
    kept = list(values)
    del repeated[:]
    repeated.extend(kept)
