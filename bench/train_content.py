"""Trains the model of the block scorer on the labelled pages of the corpus: `make train-content`.

Five trainings that each leave one fold of domains out (models for `bench.content --cross-validated`, in `.bench/folds`), and
one on all pages, which becomes `src/sitelore/extract/content/content_trees.npz`: sets of trees and a small network. Needs
`catboost`, which the make target installs into `.bench/training`.

The same corpus, code and versions give the same bytes on processors with the same vector instructions; the make target keeps
linear algebra to one thread, because the order of additions changes the network's rounding. The model holds digests of its
inputs (`training_record`).
"""

from __future__ import annotations

import argparse
import io
import json
import re
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from bench.content_scores import ROOT, Page, corpus
from bench.folds import FOLDER, FOLDS, fold_of
from bench.pseudo_translation import LANGUAGES, translate
from bench.train_network import SHARE, Blocks, network_of
from bench.training_record import record
from numpy.typing import NDArray

from sitelore.extract import dom
from sitelore.extract.content.block_scorer import UNDERRATED, PageFeatures, block_features
from sitelore.extract.content.visibility import drop_unseen
from sitelore.extract.markdown import prepare

TREES = ROOT / "src" / "sitelore" / "extract" / "content" / "content_trees.npz"
ITERATIONS, RATE, DEPTH = 300, 0.1, 6
SEEDS = (1, 2)
ROWS = 120_000
TRANSLATED = 15
"""Percentage of the pages that are also learned in another script."""
LISTINGS = 1.0
"""Log odds that are added for code. Annotators of documentation often leave code out, or stop before it, so training rates
it too low. Values from 0.5 to 2 give about the same F1; pages without code are not affected."""

_WORD = re.compile(r"\w+")
_SHORT = 6


@dataclass(frozen=True, slots=True)
class Example:
    """A page for training: a row of features, a label (1 content, 0 other, -1 no words) and a weight for each block."""

    fold: int
    names: tuple[str, ...]
    features: NDArray[np.float32]
    labels: NDArray[np.float64]
    weights: NDArray[np.float64]


def labels(texts: list[list[str]], gold: list[str]) -> NDArray[np.float64]:
    """Labels of the blocks: which of them the annotated content is made of.

    Long blocks are matched by their runs of three words. Short blocks are matched where the content still lacks their words,
    those nearest to long ones first. Then single blocks are added or removed as long as the page's F1 grows.
    """
    runs = set(zip(gold, gold[1:], gold[2:], strict=False))
    line = f" {' '.join(gold)} "
    lacking = Counter(gold)
    found = np.zeros(len(texts))
    short = []
    for at, words in enumerate(texts):
        if len(words) >= _SHORT:
            own = list(zip(words, words[1:], words[2:], strict=False))
            common = sum(run in runs for run in own) >= 0.5 * len(own)
            if common and sum(lacking[word] > 0 for word in words) >= 0.5 * len(words):
                found[at] = 1
                lacking.subtract(words)
        elif words:
            short.append(at)
        else:
            found[at] = -1
    for distance, at in sorted(zip(_distances(np.flatnonzero(found > 0), short), short, strict=True)):
        words = texts[at]
        said = f" {' '.join(words)} " in line and (distance <= 12 or len(words) >= 3)
        if (said or distance <= 3) and all(lacking[word] >= count for word, count in Counter(words).items()):
            found[at] = 1
            lacking.subtract(words)
    _improve(found, texts, lacking, len(gold))
    return found


def _distances(kept: NDArray[np.int64], places: list[int]) -> list[int]:
    if len(kept) == 0:
        return [0] * len(places)
    after = np.searchsorted(kept, places)
    return [
        int(min(abs(place - kept[min(at, len(kept) - 1)]), abs(place - kept[max(at - 1, 0)])))
        for place, at in zip(places, after.tolist(), strict=True)
    ]


def _improve(found: NDArray[np.float64], texts: list[list[str]], lacking: Counter[str], gold: int) -> None:
    out = sum(len(words) for words, label in zip(texts, found, strict=True) if label > 0)
    common = gold - sum(count for count in lacking.values() if count > 0)
    for _ in range(2):
        changed = False
        for at, words in enumerate(texts):
            counts = Counter(words)
            if not words:
                continue
            if found[at] > 0:
                loss = sum(max(0, min(count, lacking[word] + count)) for word, count in counts.items())
                if loss < 0.34 * len(words):
                    found[at], out, common, changed = 0, out - len(words), common - loss, True
                    lacking.update(words)
                continue
            gain = sum(min(count, max(0, lacking[word])) for word, count in counts.items())
            near = any(0 <= other < len(found) and found[other] > 0 for other in (at - 2, at - 1, at + 1, at + 2))
            better = (common + gain) * (out + gold) > common * (out + len(words) + gold)
            if near and gain >= 0.8 * len(words) and better:
                found[at], out, common, changed = 1, out + len(words), common + gain, True
                lacking.subtract(words)
        if not changed:
            return


def examples_of(page: Page) -> list[Example]:
    """A page for training, and some pages in another script too; nothing without annotated content or without text."""
    gold = _WORD.findall(page.gold.lower())
    tree = dom.parse(page.html)
    prepare(tree)
    drop_unseen(tree)
    body = dom.body(tree)
    html = dom.serialised(body) if body is not None else b""
    page_features = block_features(html)
    if not gold or page_features is None:
        return []
    names = page_features.names
    matrix = _matrix(page_features)
    texts = [_WORD.findall(text.decode("utf-8", "replace").lower()) for text in page_features.texts()]
    found = labels(texts, gold)
    words = np.array([len(words) + 0.5 for words in texts])
    words[found < 0] = 0  # never drawn
    # Every page counts about the same, small ones a little less, because a corpus's figure is the mean over its pages. Blocks
    # that are not content count at most one and a half times as much as content, or pages that are mostly navigation would
    # teach the model to drop everything.
    wanted, unwanted = words[found > 0].sum(), words[found == 0].sum()
    weights = words / (wanted + 0.3 * words.sum() + 30)
    weights[found == 0] *= min(1.0, 1.5 * (wanted + 10) / max(1.0, unwanted))
    original = Example(fold_of(page.url), names, matrix, found, weights)
    draw = int.from_bytes(blake2b(page.url.encode(), digest_size=4).digest(), "big")
    if draw % 100 >= TRANSLATED:
        return [original]
    translated = block_features(translate(html, LANGUAGES[draw // 100 % len(LANGUAGES)]))
    if translated is None or len(translated.blocks) != len(found):
        return [original]
    return [original, replace(original, features=_matrix(translated))]


def _matrix(page: PageFeatures) -> NDArray[np.float32]:
    """The features of a page, one row a block."""
    return np.frombuffer(page.matrix, np.float32).reshape(len(page.names), -1).T.copy()


def train(examples: list[Example], path: Path) -> None:
    """Train on these pages and write the trees and the network."""
    names = examples[0].names
    features = np.concatenate([each.features for each in examples])
    found = np.concatenate([each.labels for each in examples])
    weights = np.concatenate([each.weights for each in examples])
    sizes = np.array([len(each.labels) for each in examples])
    network = network_of(Blocks(features, found, weights, sizes), names)
    write(trees_of(features, found, weights), network, names, path)


def trees_of(features: NDArray[np.float32], found: NDArray[np.float64], weights: NDArray[np.float64]) -> list[dict[str, Any]]:
    """A set of trees for each seed, as CatBoost exports them."""
    from catboost import CatBoostClassifier  # type: ignore[import-not-found]

    chance = chances(weights, ROWS)
    models = []
    for seed in SEEDS:
        drawn = np.random.default_rng(seed).random(len(chance)) < chance
        weight = weights[drawn] / chance[drawn]
        model = CatBoostClassifier(
            iterations=ITERATIONS,
            learning_rate=RATE,
            depth=DEPTH,
            border_count=64,
            l2_leaf_reg=5,
            rsm=0.3,
            bootstrap_type="Bernoulli",
            subsample=0.7,
            boosting_type="Plain",
            random_seed=seed,
            thread_count=1,
            verbose=0,
            allow_writing_files=False,
        )
        model.fit(features[drawn], found[drawn], sample_weight=weight / weight.mean())
        with tempfile.TemporaryDirectory() as folder:
            exported = Path(folder) / "model.json"
            model.save_model(str(exported), format="json")
            models.append(json.loads(exported.read_text()))
    return models


def chances(weights: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    """The probability that each block is drawn, in proportion to its weight and at most 1, so that about `rows` are drawn.

    A drawn block then counts for those like it that were not drawn. Each set of trees sees other blocks of navigation, of which
    there are many; training takes a third of the time.
    """
    low, high = 0.0, float(weights.max())
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(1, weights / middle).sum() > rows else (low, middle)
    return np.minimum(1, weights / high)


def write(models: list[dict[str, Any]], network: dict[str, NDArray[Any]], names: tuple[str, ...], path: Path) -> None:
    """Write the model as the package reads it, the same bytes for the same training. Sets of trees become their mean."""
    share = (1 - SHARE) / len(models)
    feature: list[list[int]] = []
    bound: list[list[float]] = []
    value: list[NDArray[np.float64]] = []
    bias = SHARE * UNDERRATED  # the shift undoes the weights of log loss; the network was trained on F1
    for stored in models:
        scale, (base, *_) = stored["scale_and_bias"]
        bias += base * share
        for tree in stored["oblivious_trees"]:
            splits = tree["splits"]
            # A tree with fewer splits is filled up with splits that are never true.
            spare = DEPTH - len(splits)
            feature.append([split["float_feature_index"] for split in splits] + [0] * spare)
            bound.append([split["border"] for split in splits] + [np.inf] * spare)
            value.append(np.array(tree["leaf_values"] + [0.0] * (2**DEPTH - 2 ** len(splits))) * scale * share)
    # One more tree, not trained, adds LISTINGS: all its splits ask whether a block is inside `pre`.
    feature.append([names.index("in_pre")] * DEPTH)
    bound.append([0.5] * DEPTH)
    value.append(np.append(np.zeros(2**DEPTH - 1), LISTINGS))
    out = io.BytesIO()
    np.savez_compressed(
        out,
        allow_pickle=False,
        feature=np.array(feature, np.int16),
        bound=np.array(bound, np.float32),
        value=np.array(value, np.float32),
        bias=np.float64(bias),
        names=np.array(" ".join(names)),
        record=np.array(json.dumps(record(), sort_keys=True)),
        **network,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(out.getvalue())


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only-folds", action="store_true")
    parser.add_argument("--only-whole", action="store_true")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        examples = [each for examples in pool.map(examples_of, corpus(), chunksize=8) for each in examples]
    blocks = sum(len(each.labels) for each in examples)
    print(f"{len(examples)} pages, {blocks} blocks, {len(examples[0].names)} features")
    with ProcessPoolExecutor(options.jobs) as pool:
        waiting = []
        if not options.only_whole:
            for fold in range(FOLDS):
                kept = [each for each in examples if each.fold != fold]
                waiting.append(pool.submit(train, kept, FOLDER / f"{fold}.npz"))
        if not options.only_folds:
            waiting.append(pool.submit(train, examples, TREES))
        for task in waiting:
            task.result()


if __name__ == "__main__":
    main()
