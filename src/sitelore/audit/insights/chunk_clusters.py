"""Insight about topics: clusters of the chunks of the search index, by their embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sitelore.audit.insights.topics import TopicCounts, terms_of
from sitelore.model.audit.findings import VectorSample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

MAX_CHUNKS = 20_000
"""Chunks that are clustered; of more, a sample."""
MIN_CHUNKS = 100
"""Fewer vectors say nothing about the topics of a site."""
MAX_CLUSTERS = 30
_CHUNKS_PER_CLUSTER = 25
"""From how many chunks on, on average, there is one more cluster."""
_MIN_CLUSTERS = 4
_MAX_ROUNDS = 30
TYPICAL = 40
"""Chunks nearest to the centre of a cluster, from which its label is made."""
_PHRASES, _EXAMPLES = 6, 5


class ChunkText(NamedTuple):
    """What the label of a cluster is made of."""

    url: str
    headings: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class ChunkCluster:
    """Chunks about one topic."""

    label: str
    """The phrases that distinguish its typical chunks from those of other clusters."""
    chunks: int
    pages: int
    similarity: float
    """The mean cosine similarity of its chunks to its centre, without what all chunks have in common."""
    examples: tuple[str, ...]
    """Pages with its most typical chunks."""


@dataclass(frozen=True, slots=True)
class ChunkClusters:
    """The topics of a site by the meaning of its texts, the largest first."""

    clustered: int
    chunks: int
    clusters: tuple[ChunkCluster, ...]


class ChunkGroup(NamedTuple):
    """Chunks that are alike, the most typical first: positions in the sample."""

    members: tuple[int, ...]
    similarity: float


def group_chunks(sample: VectorSample) -> list[ChunkGroup]:
    """Groups of chunks with similar embeddings, the largest first: k-means with cosine similarity from fixed starts.

    Nothing where there are too few vectors. Equal samples give equal groups.
    """
    import numpy as np  # noqa: PLC0415 part of an extra

    if len(sample.chunks) < MIN_CHUNKS:
        return []
    vectors = _centred(sample)
    count = min(MAX_CLUSTERS, max(_MIN_CLUSTERS, round((len(vectors) / _CHUNKS_PER_CLUSTER) ** 0.75)))
    centres = vectors[_starts(vectors, count)]
    nearest = np.full(len(vectors), -1)
    for _ in range(_MAX_ROUNDS):
        before, nearest = nearest, (vectors @ centres.T).argmax(axis=1)
        if (before == nearest).all():
            break
        for number in range(count):
            if (is_member := nearest == number).any():
                centres[number] = _unit(vectors[is_member].sum(axis=0))
    similarities = np.take_along_axis(vectors @ centres.T, nearest[:, None], axis=1)[:, 0]
    groups = []
    for number in range(count):
        members = np.flatnonzero(nearest == number)
        if len(members):
            ordered = members[np.argsort(-similarities[members], kind="stable")]
            groups.append(ChunkGroup(tuple(ordered.tolist()), round(float(similarities[members].mean()), 3)))
    return sorted(groups, key=lambda group: (-len(group.members), group.members[0]))


def _centred(sample: VectorSample) -> Matrix:
    """The embeddings without their mean: all texts of a site are alike in what the site is about."""
    import numpy as np  # noqa: PLC0415 part of an extra

    vectors = np.frombuffer(b"".join(each.vector for each in sample.chunks), "<f2").astype(np.float32)
    vectors = vectors.reshape(len(sample.chunks), -1)
    vectors -= vectors.mean(axis=0)
    units: Matrix = _unit(vectors)
    return units


def _unit(vectors: Any) -> Any:
    import numpy as np  # noqa: PLC0415 part of an extra

    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-9)


def _starts(vectors: Matrix, count: int) -> list[int]:
    """The chunks from which clusters start: each the one that is least like those before it, beginning with the most typical.

    An outlier would make a cluster of its own, so only every tenth chunk is considered, in the order of the sample.
    """
    import numpy as np  # noqa: PLC0415 part of an extra

    candidates = np.arange(0, len(vectors), max(1, min(10, len(vectors) // (10 * count))))
    chosen = [int((vectors[candidates] @ vectors.sum(axis=0)).argmax())]
    closest = vectors[candidates] @ vectors[candidates[chosen[0]]]
    while len(chosen) < count:
        chosen.append(int(closest.argmin()))
        closest = np.maximum(closest, vectors[candidates] @ vectors[candidates[chosen[-1]]])
    return [int(candidates[at]) for at in chosen]


def typical_chunks(sample: VectorSample, groups: Sequence[ChunkGroup]) -> list[int]:
    """The numbers of the chunks whose texts `label_groups` needs."""
    return [sample.chunks[at].number for group in groups for at in group.members[:TYPICAL]]


def label_groups(sample: VectorSample, groups: Sequence[ChunkGroup], texts: Mapping[int, ChunkText]) -> ChunkClusters:
    """The clusters with their labels. `texts` by the numbers of chunks; those that must not be shown are left out."""
    topics = TopicCounts()
    for number, group in enumerate(groups):
        for each in _texts_of(sample, group, texts):
            topics.add(str(number), terms_of("", each.headings, each.text))
    phrases = {int(each.section): [phrase for phrase, _ in each.phrases[:_PHRASES]] for each in topics.sections()}
    clusters = []
    for number, group in enumerate(groups):
        examples = tuple(dict.fromkeys(each.url for each in _texts_of(sample, group, texts)))[:_EXAMPLES]
        if examples:
            pages = {page for at in group.members for page in sample.chunks[at].pages}
            label = ", ".join(phrases.get(number, ()))
            clusters.append(ChunkCluster(label, len(group.members), len(pages), group.similarity, examples))
    return ChunkClusters(len(sample.chunks), sample.total, tuple(clusters))


def _texts_of(sample: VectorSample, group: ChunkGroup, texts: Mapping[int, ChunkText]) -> list[ChunkText]:
    numbers = (sample.chunks[at].number for at in group.members[:TYPICAL])
    return [texts[number] for number in numbers if number in texts]
