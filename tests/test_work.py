"""What a step's key holds, and what a run says of the models that it trains."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import heatcheck
from heatcheck.experiments.agreement import AgreementConfig
from heatcheck.experiments.guided_mlp import GuidedConfig
from heatcheck.experiments.randomisation import RandomisationConfig
from heatcheck.experiments.seed_variance import SeedConfig
from heatcheck.experiments.trained.imitation import Imitation
from heatcheck.experiments.trained.jobs import Training
from heatcheck.experiments.trained_adversary import AdversaryConfig
from heatcheck.explain import packages, plugins
from heatcheck.models.fit import Recipe
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.spec import ModelSpec
from heatcheck.progress import Silent
from heatcheck.request import Request
from heatcheck.results import read_run
from heatcheck.runner import execute
from tests.toys import write_reviews

LENGTHS = """
import torch
from heatcheck.explain.method import Method
from heatcheck.explain.types import Explanation
from heatcheck.models.protocols import Predictor

def lengths(model, batch, scalar, *, generator=None):
    length = batch.offsets[..., 1] - batch.offsets[..., 0]
    return Explanation(torch.where(batch.words, length, 0).float(), signed=False)

METHOD = Method(lengths, Predictor, about="long words")
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """A package with a method, in the version that is given."""
    monkeypatch.syspath_prepend(tmp_path)
    info = tmp_path / "other.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[heatcheck.explainers]\nword_lengths = lengths_module:METHOD\n")
    (tmp_path / "lengths_module.py").write_text(LENGTHS)

    def call(version: str) -> None:
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: other\nVersion: {version}\n")
        plugins.found.cache_clear()

    yield call
    plugins.found.cache_clear()
    sys.modules.pop("lengths_module", None)


def test_methods_of_other_packages_bring_their_version_along(install):
    install("1.0")
    assert packages(["lime(samples=9)", "word_lengths", "gradient"]) == {"packages": {"word_lengths": "other 1.0"}}
    assert packages(["lime(samples=9)", "gradient"]) == {}  # steps that are finished keep their keys


def test_another_version_of_a_package_explains_anew(install, tmp_path):
    data = write_reviews(tmp_path / "reviews.csv", 40)
    configs = {
        "agreement": AgreementConfig(methods=("word_lengths", "gradient")),
        "randomisation": RandomisationConfig(methods=("word_lengths",)),
        "guided_mlp": GuidedConfig(guides=("word_lengths", "gradient"), seeds=(1,), one_seed=True, hidden=4),
    }

    def steps(version: str, out: str) -> dict[str, set[str]]:
        install(version)
        spec, recipe = ModelSpec("mlp", embedding_width=8, hidden=4), Recipe(epochs=1, vectors="none")
        tests = tuple(configs)
        heatcheck.audit(
            data=data, out=tmp_path / out, experiments=tests, configs=configs, spec=spec, recipe=recipe, threads=1
        )
        names = [p.name.rsplit("-", 1) for p in Path(tmp_path / out / "steps").iterdir() if p.is_dir()]
        return {kind: {key for other, key in names if other == kind} for kind, _ in names}

    old, again, new = steps("1.0", "old"), steps("1.0", "again"), steps("1.1", "new")
    assert old == again
    assert old["train"] == new["train"]
    assert len(old["explain"] & new["explain"]) == 1  # gradient is ours
    assert not old["agreement"] & new["agreement"]
    assert not old["randomisation"] & new["randomisation"]
    assert len(old["guide"] & new["guide"]) == 1


def test_only_adversaries_of_transformers_are_trained_anew():
    def revision(spec, imitation):
        return Training("twin", spec, Recipe(), 1, imitation).revision

    assert revision(TransformerSpec("minilm"), Imitation()) == 2
    assert revision(TransformerSpec("minilm"), None) == revision(ModelSpec(), Imitation()) == 1


class Heard(Silent):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)


def test_models_that_are_needed_are_announced_and_their_time_is_their_own(tmp_path):
    sweep = AdversaryConfig(lambdas=(0.0, 0.1, 1.0), seeds=(1, 2), epochs=1, stop_at=0.0)
    request = Request(
        data=str(write_reviews(tmp_path / "reviews.csv", 60)),
        spec=ModelSpec("mlp", embedding_width=8, hidden=4),
        recipe=Recipe(epochs=1, vectors="none"),
        experiments=("trained_adversary", "seed_variance"),
        configs={"trained_adversary": sweep, "seed_variance": SeedConfig((1, 2))},
    )
    heard = Heard()
    folder = execute(request, tmp_path / "run", progress=heard)
    (said,) = [sentence for sentence in heard.sentences if sentence.startswith("Models that are needed: ")]
    assert "up to 6 for trained_adversary" in said  # four, as it turns out
    assert "2 for seed_variance" in said
    assert said.count("up to") == 1
    about = read_run(folder)
    assert any(note.endswith("Not tried: 1.") for note in about["notes"])
    assert about["durations"]["other models"] > 0
    plain = replace(request, experiments=("performance",), configs={})
    assert "other models" not in read_run(execute(plain, tmp_path / "plain"))["durations"]
