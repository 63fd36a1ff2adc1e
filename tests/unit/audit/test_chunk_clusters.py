"""Clusters of chunks by their embeddings."""

from __future__ import annotations

import numpy as np

from sitelore.audit.insights.chunk_clusters import (
    MAX_CLUSTERS,
    MIN_CHUNKS,
    ChunkText,
    group_chunks,
    label_groups,
    typical_chunks,
)
from sitelore.model.audit.findings import ChunkVector, VectorSample

TOPICS = {
    0: "installing packages: the installer copies packages, then packages are configured",
    1: "network routing: a routing table sends network packets to their network",
    2: "password policy: a strong password, and a password manager for every password",
    3: "printing images: colour images need ink, and large images need more ink",
}


def sample_of(size: int, topics: int = 4, spread: float = 0.2, dimensions: int = 32) -> VectorSample:
    """Chunks about some topics, in the order of a hash. Two chunks have one page."""
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(topics, dimensions))
    vectors = centres[topics_of(size, topics)] / np.linalg.norm(centres[0]) + spread * rng.normal(size=(size, dimensions)) / 6
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = vectors.astype("<f2")
    return VectorSample([ChunkVector(at, (at % (size // 2),), rows[at].tobytes()) for at in range(size)], size)


def topics_of(size: int, topics: int = 4) -> list[int]:
    """The topic of each chunk."""
    return [int(topic) for topic in np.random.default_rng(1).permutation(np.arange(size) % topics)]


def texts_of(sample: VectorSample) -> dict[int, ChunkText]:
    topics = topics_of(len(sample.chunks))
    return {at: ChunkText(f"https://site.test/{at // 4}", (), TOPICS[topic]) for at, topic in enumerate(topics)}


def test_chunks_about_one_topic_are_one_cluster() -> None:
    sample = sample_of(100)
    groups = group_chunks(sample)
    topics = topics_of(100)
    assert sorted(sorted({topics[at] for at in group.members}) for group in groups) == [[0], [1], [2], [3]]
    assert all(group.similarity > 0.9 for group in groups)


def test_every_chunk_is_in_one_cluster_and_the_largest_comes_first() -> None:
    sample = sample_of(2_000, topics=7, spread=3.0)
    groups = group_chunks(sample)
    assert sorted(at for group in groups for at in group.members) == list(range(2_000))
    sizes = [len(group.members) for group in groups]
    assert sizes == sorted(sizes, reverse=True)
    assert 1 < len(groups) <= MAX_CLUSTERS


def test_equal_samples_give_equal_clusters() -> None:
    assert group_chunks(sample_of(500, spread=2.0)) == group_chunks(sample_of(500, spread=2.0))


def test_too_few_vectors_give_no_clusters() -> None:
    assert group_chunks(sample_of(MIN_CHUNKS - 2)) == []
    assert group_chunks(VectorSample()) == []


def test_equal_vectors_are_no_error() -> None:
    vector = np.full(8, 0.35, "<f2").tobytes()
    sample = VectorSample([ChunkVector(at, (at,), vector) for at in range(200)], 200)
    assert sum(len(group.members) for group in group_chunks(sample)) == 200


def test_a_cluster_is_labelled_with_the_phrases_of_its_typical_chunks() -> None:
    sample = sample_of(100)
    groups = group_chunks(sample)
    result = label_groups(sample, groups, texts_of(sample))
    assert (result.clustered, result.chunks) == (100, 100)
    words = ("packages", "network", "password", "images")
    for group, cluster in zip(groups, result.clusters, strict=True):
        assert words[topics_of(100)[group.members[0]]] in cluster.label
        assert cluster.chunks == 25
        assert cluster.pages <= 25
        assert len(cluster.examples) == 5
        assert cluster.examples[0] == f"https://site.test/{group.members[0] // 4}"


def test_chunks_that_must_not_be_shown_are_in_no_label_and_no_example() -> None:
    sample = sample_of(100)
    groups = group_chunks(sample)
    assert label_groups(sample, groups, {}).clusters == ()
    hidden = set(groups[0].members)
    shown = {at: text for at, text in texts_of(sample).items() if at not in hidden}
    assert len(label_groups(sample, groups, shown).clusters) == 3
    assert set(typical_chunks(sample, groups)) <= set(range(100))
