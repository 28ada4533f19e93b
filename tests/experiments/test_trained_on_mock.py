"""The trained tests where the answer is known: mock data, whose deciding words we planted."""

import json
import math

import numpy as np
import pytest

import heatcheck
from heatcheck.data import sources
from heatcheck.data.dataset import TEST
from heatcheck.experiments.attefa import AtteFaConfig
from heatcheck.experiments.guided_mlp import GuidedConfig
from heatcheck.experiments.trained.models import says
from heatcheck.models.fit import Recipe
from heatcheck.models.loading import load_subject
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.spec import ModelSpec

RECIPE = Recipe(epochs=12, vectors="none", learning_rate=0.02)
SPEC = ModelSpec(encoder="mlp", embedding_width=8, hidden=8)
SIZES = "train=400, dev=100, test=100, shortest=5, longest=9"


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    files = (folder / "negative.txt", folder / "positive.txt")
    for file, listed in zip(files, ("bad poor dull weak", "good great fine strong"), strict=True):
        file.write_text("\n".join(listed.split()))
    return files


def entropy(a: np.ndarray) -> np.ndarray:
    return -(a * np.log(a) + (1 - a) * np.log1p(-a))


def test_no_adversary_of_an_mlp_on_mock_1_exceeds_the_bound(words, tmp_path):
    """All fillers are one word, so an MLP gives them the same weight, and only the weight of the informative word can
    move: from a > ½ the farthest is to 0, at JSD h(a/2) − h(a)/2."""
    source = f"mock-1({SIZES})"
    run = heatcheck.audit(
        data=source, words=words, out=tmp_path / "run", spec=SPEC, recipe=RECIPE, threads=1, experiments=("attefa",),
        configs={"attefa": AtteFaConfig(seeds=(1, 2), epochs=15)},
    )  # fmt: skip
    data = sources.load(source, words=words)
    base = load_subject(TransformerSpec(run.description["model"]["folder"]))
    by_text = run.scores[(run.scores.measure == "attefa_jsd") & run.scores.example_id.notna()]
    farthest = by_text.groupby("example_id").value.max()
    checked = 0
    for batch in base.batches(data.splits[TEST], 100):
        _, attention = says(base, batch)
        for name, weights, mask in zip(batch.example_ids, attention[:, 0], batch.attended, strict=True):
            own = weights[mask].double().numpy()
            top = own.argmax()
            rest = np.delete(own, top)
            if own[top] <= 0.5:
                continue
            assert np.ptp(rest) < 1e-6
            a = np.clip(own[top], 0, 1 - 1e-12)
            bound = entropy(a / 2) - entropy(a) / 2
            assert farthest[name] <= bound + 1e-5
            assert bound < math.log(2)
            checked += 1
    assert checked > 50  # the base did learn to look at the planted word
    assert farthest.mean() > 0.2  # and the adversary to look away


def test_the_true_positions_are_a_better_guide_than_none(words, tmp_path):
    """Opposite words strewn outside the planted places: a uniform average sees as many of one kind as of the other."""
    source = f"mock-2(place='start', noise=1, {SIZES})"
    data = sources.load(source, words=words)
    guide = tmp_path / "planted.jsonl"
    rows = []
    for examples in data.splits.values():
        for example in examples:
            starts = {span.start for span in example.evidence}
            place, weights = 0, []
            for word in example.text.split(" "):
                weights.append(float(place in starts))
                place += len(word) + 1
            rows.append({"id": example.id, "weights": weights})
    assert len({row["id"] for row in rows}) == len(rows)
    guide.write_text("\n".join(json.dumps(row) for row in rows))
    run = heatcheck.audit(
        data=source, words=words, out=tmp_path / "run", spec=SPEC, recipe=RECIPE, threads=1,
        experiments=("guided_mlp",), configs={"guided_mlp": GuidedConfig(("uniform", f"file:{guide}"), seeds=(1, 2))},
    )  # fmt: skip
    gap = run.scores[(run.scores.measure == "guided_f1_difference") & run.scores.example_id.isna()].iloc[0]
    assert gap.low > 0.2
