"""Embeddings: text → vectors.

`factory` chooses the embedder that the settings name, `local` runs an ONNX model on the CPU, `remote` calls an
OpenAI-compatible endpoint, and `backfill` embeds the texts that have no vector yet.
"""
