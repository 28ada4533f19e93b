"""What tests that train refuse before any work, in a sentence and without a trace; and what they say beside numbers."""

import json
from dataclasses import replace

import pytest

import heatcheck
from heatcheck.data import sources
from heatcheck.errors import InputError
from heatcheck.experiments import EXPERIMENTS
from heatcheck.experiments.agreement import AgreementConfig
from heatcheck.experiments.attefa import AtteFaConfig
from heatcheck.experiments.guided_mlp import GuidedConfig
from heatcheck.experiments.seed_variance import SeedConfig
from heatcheck.experiments.trained.base import Base
from heatcheck.experiments.trained.seeds import PAPER_2
from heatcheck.experiments.trained_adversary import AdversaryConfig
from heatcheck.experiments.uniform_attention import UniformConfig
from heatcheck.explain import EXPLAINERS
from heatcheck.fitness import base_of, check_fit
from heatcheck.models import checkpoint
from heatcheck.models.finetune import FINE_TUNING
from heatcheck.models.fit import Recipe
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.protocols import TransformerClassifier
from heatcheck.models.spec import ModelSpec
from heatcheck.models.training import train
from heatcheck.request import Request
from tests.tiny import tiny_folder
from tests.toys import write_reviews

RECIPE = Recipe(epochs=1, vectors="none", learning_rate=0.01)
SPEC = ModelSpec("mlp", embedding_width=8, hidden=4)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """An MLP of seed 0, its file of texts, and those texts."""
    folder = tmp_path_factory.mktemp("fitness")
    file = write_reviews(folder / "reviews.csv", 60)
    data = sources.load(str(file))
    checkpoint.save(train(data, SPEC, RECIPE, seed=0), folder / "model")
    return folder / "model", file, data


def refused(model, out, test, config, said):
    folder, file, _ = model
    with pytest.raises(InputError, match=said):
        heatcheck.run(test, folder, file, out=out, threads=1, configs={test: config})
    assert not out.exists()


def write_guide(file, data, *, first=1.0, wrong=()):
    """A weight for each word, the first word's own; one too many for the texts in `wrong`."""
    texts = [e for split in data.splits.values() for e in split]
    rows = [(e.id, [first] + [1.0] * (len(e.text.split()) - 1 + (e.id in wrong))) for e in texts]
    file.write_text("\n".join(json.dumps({"id": name, "weights": weights}) for name, weights in rows))
    return f"file:{file}"


def test_a_changed_guide_is_seen(model, tmp_path):
    folder, file, data = model

    def guided(first):
        guide = write_guide(tmp_path / "guide.jsonl", data, first=first)
        config = GuidedConfig(guides=("uniform", guide), seeds=(1,), one_seed=True, hidden=4)
        heatcheck.run("guided_mlp", folder, file, out=tmp_path / "run", threads=1, configs={"guided_mlp": config})
        return {p.name for p in (tmp_path / "run" / "steps").iterdir() if p.is_dir()}

    before, again, after = guided(0.0), guided(0.0), guided(50.0)
    assert before == again
    assert sorted(name.split("-")[0] for name in after - before) == ["guide", "guided_mlp", "training"]


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_a_guide_that_does_not_fit_is_refused_before_any_training(model, tmp_path, split):
    first = model[2].splits[split][0].id
    guide = write_guide(tmp_path / "guide.jsonl", model[2], wrong=(first,))
    said = rf"guide.jsonl, row \d+: \d+ weights for the text '{first}', which has \d+ words"
    refused(model, tmp_path / "run", "guided_mlp", GuidedConfig(("uniform", guide), (1,), one_seed=True), said)
    request = Request(data=str(model[1]), spec=SPEC, recipe=RECIPE, experiments=("guided_mlp",))
    request = replace(request, configs={"guided_mlp": GuidedConfig(("uniform", guide), (1,), one_seed=True)})
    with pytest.raises(InputError, match=said):
        check_fit(request, model[2], None)


def test_a_guide_that_cannot_be_read_is_refused_before_any_training(model, tmp_path):
    missing = GuidedConfig(("uniform", f"file:{tmp_path / 'nothere.jsonl'}"), (1,), one_seed=True)
    refused(model, tmp_path / "run", "guided_mlp", missing, "there is no such file of weights")
    (tmp_path / "latin.jsonl").write_bytes('{"id": "é", "weights": [1]}'.encode("latin-1"))
    latin = GuidedConfig(("uniform", f"file:{tmp_path / 'latin.jsonl'}"), (1,), one_seed=True)
    refused(model, tmp_path / "run", "guided_mlp", latin, "latin.jsonl: not UTF-8 text")


@pytest.mark.parametrize(
    ("test", "config", "flag"),
    [
        ("seed_variance", SeedConfig((0, 1)), "--seeds"),
        ("uniform_attention", UniformConfig((1, 0, 2)), "--seeds"),
        ("attefa", AtteFaConfig((1,), bases=(0,)), "--bases"),
    ],
)
def test_the_models_own_seed_would_count_it_twice(model, tmp_path, test, config, flag):
    refused(model, tmp_path / "run", test, config, rf"{test}: 0 is the seed of .* itself.*{flag}")
    request = Request(data=str(model[1]), spec=SPEC, recipe=RECIPE, experiments=(test,), configs={test: config})
    with pytest.raises(InputError, match="0 is the seed of"):
        check_fit(request, model[2], None)


def test_the_papers_seeds_make_way_for_that_of_the_model(model):
    """A default is nobody's mistake: 10, the paper's own base seed, takes the place of the model's."""
    subject = replace(checkpoint.load(model[0]), seed=257)
    for test, config in (("seed_variance", SeedConfig()), ("uniform_attention", UniformConfig())):
        EXPERIMENTS[test].check_base(config, Base("m", 257))
        seeds = [job.seed for job in EXPERIMENTS[test].models(subject, config, {})]
        assert 257 not in seeds
        assert 10 in seeds
        assert len(set(seeds)) == len(config.seeds)
        assert any("10 takes its place" in note for note in EXPERIMENTS[test].notes(config, Base("m", 257)))
        assert not EXPERIMENTS[test].notes(config, Base("m", 0))
    assert [job.seed for job in EXPERIMENTS["seed_variance"].models(subject, SeedConfig((4, 9)), {})] == [4, 9]
    with pytest.raises(InputError, match="50 is the seed of m itself"):  # which is nobody's default
        EXPERIMENTS["attefa"].check_base(AtteFaConfig(bases=PAPER_2[:2]), Base("m", 50))


def test_one_seed_and_the_start_of_the_model_are_noted():
    base = Base("m", 50)
    notes = EXPERIMENTS["attefa"].notes(AtteFaConfig((50, 257)), base)
    assert len(notes) == 1
    assert "attefa: the adversary of seed 50 starts from the weights that m itself started from" in notes[0]
    for test, config in (
        ("attefa", AtteFaConfig((1,), one_seed=True)),
        ("trained_adversary", AdversaryConfig(seeds=(1,), one_seed=True)),
        ("guided_mlp", GuidedConfig(seeds=(1,), one_seed=True)),
    ):
        notes = EXPERIMENTS[test].notes(config, base)
        assert notes == [f"{test}: one seed, so how much another would change is not known. Give several with --seeds."]


@pytest.mark.parametrize(
    ("test", "config"),
    [
        ("attefa", AtteFaConfig((1,), one_seed=True)),
        ("trained_adversary", AdversaryConfig()),
        ("seed_variance", SeedConfig((1, 2))),
        ("uniform_attention", UniformConfig((1, 2, 3))),
        ("guided_mlp", GuidedConfig(("uniform", "base"), (1,), one_seed=True)),
    ],
)
def test_attention_that_cannot_move_is_refused(model, test, config):
    subject = checkpoint.load(model[0])
    frozen = replace(subject, spec=replace(subject.spec, weighting="uniform"))
    request = Request(
        data=str(model[1]), experiments=(test,), configs={test: config}, spec=replace(SPEC, weighting="uniform")
    )
    for given in (frozen, None):
        with pytest.raises(InputError, match=rf"{test} .* gives every word the same weight, and can give no other"):
            check_fit(request, model[2], given)


def test_guides_that_are_nobodys_attention_serve_any_model(model):
    subject = checkpoint.load(model[0])
    base = base_of(Request(), replace(subject, spec=replace(subject.spec, weighting="uniform")))
    EXPERIMENTS["guided_mlp"].check_base(GuidedConfig(("uniform", "mlp", "gradient"), (1,), one_seed=True), base)


@pytest.mark.parametrize("test", ["permutation", "adversarial_attention"])
def test_several_heads_are_refused_before_any_training(model, tmp_path, test):
    two = {"spec": replace(SPEC, heads=2), "recipe": RECIPE, "threads": 1}
    with pytest.raises(InputError, match=rf"{test} is for attention with one head, and mlp \(additive\) will have 2\."):
        heatcheck.run(test, data=model[1], out=tmp_path / "run", **two)
    pairs = replace(SPEC, pairing="comparison")
    request = Request(data=str(model[1]), spec=pairs, recipe=RECIPE, experiments=(test,))
    check_fit(request, model[2], None)  # there is nothing to compare
    with pytest.raises(InputError, match="will have 2"):
        check_fit(request, replace(model[2], task="pair"), None)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("test", ["correlation", "permutation", "guided_mlp"])
def test_what_a_transformer_is_not_is_refused_before_it_is_fine_tuned(model, tmp_path, test):
    spec = TransformerSpec(str(tiny_folder(tmp_path / "tiny", "bert")))
    with pytest.raises(
        InputError, match=rf"{test} needs an attention model \(of `heatcheck train`\), which tiny is not\."
    ):
        heatcheck.run(test, data=model[1], out=tmp_path / "run", spec=spec, recipe=FINE_TUNING, threads=1)
    assert not (tmp_path / "run").exists()


def test_methods_that_a_model_cannot_serve_are_refused_before_it_is_trained(model, monkeypatch):
    """Those of other packages may need one kind of attention."""
    monkeypatch.setitem(EXPLAINERS, "layers", replace(EXPLAINERS["rollout"], needs=TransformerClassifier))
    request = Request(data=str(model[1]), spec=SPEC, recipe=RECIPE, experiments=("agreement",))
    request = replace(request, configs={"agreement": AgreementConfig(methods=("layers", "gradient"))})
    with pytest.raises(
        InputError, match=r"layers needs a transformer .*, which mlp \(additive\) is not\. Leave it out\."
    ):
        check_fit(request, model[2], None)


def answer(texts):
    return [[0.5, 0.5]] * len(texts)


@pytest.mark.parametrize("tested", [answer, None])
def test_a_split_that_is_not_there_is_a_sentence(model, tmp_path, tested):
    with pytest.raises(InputError, match=r"there are no validation texts\. There are: 48 train, 6 dev, 6 test\."):
        heatcheck.audit(tested, model[1], split="validation", out=tmp_path / "run", threads=1)


def test_data_without_planted_words_is_refused_before_any_training(model):
    request = Request(data=str(model[1]), spec=SPEC, recipe=RECIPE, experiments=("ground_truth",))
    with pytest.raises(InputError, match="ground_truth needs texts whose deciding words are known"):
        check_fit(request, model[2], None)
