"""The trained tests on a fine-tuned transformer: its last [CLS] rows are the heads."""

import json
import shutil
from dataclasses import replace

import pytest

import heatcheck
from heatcheck import api
from heatcheck.data import sources
from heatcheck.errors import InputError
from heatcheck.experiments import EXPERIMENTS
from heatcheck.experiments.attefa import AtteFaConfig
from heatcheck.experiments.seed_variance import SeedConfig
from heatcheck.experiments.trained_adversary import AdversaryConfig
from heatcheck.experiments.uniform_attention import UniformConfig
from heatcheck.fitness import base_of, check_same_training
from heatcheck.model_folder import train_model
from heatcheck.models import finetune
from heatcheck.models.finetune import FINE_TUNING
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.request import Request
from tests.models.test_finetune import reviews
from tests.tiny import tiny_folder

RECIPE = replace(FINE_TUNING, epochs=2, learning_rate=2e-3, batch_size=16)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned")
    body = tiny_folder(folder / "body", "bert")
    data = folder / "reviews.csv"
    rows = [
        (e, split)
        for seed, (split, n) in enumerate((("train", 96), ("dev", 24), ("test", 24)))
        for e in reviews(n, seed)
    ]
    data.write_text("text,label,split\n" + "\n".join(f"{e.text},{('no', 'yes')[e.label]},{split}" for e, split in rows))
    request = api.make_request(
        None, data, None, 0, {"spec": TransformerSpec(str(body)), "recipe": RECIPE, "threads": 1}
    )  # fmt: skip
    train_model(request, folder / "model")
    return folder / "model", data


def test_its_heads_are_matched_and_compared(tuned, tmp_path):
    model, data = tuned
    run = heatcheck.audit(
        model, data, out=tmp_path / "run", threads=1, experiments=("attefa", "seed_variance", "uniform_attention"),
        configs={
            "attefa": AtteFaConfig(seeds=(1,), one_seed=True, epochs=2),
            "seed_variance": SeedConfig(seeds=(1, 2)),
            "uniform_attention": UniformConfig(seeds=(1, 2, 3)),
        },
    )  # fmt: skip
    over_all = run.scores[run.scores.example_id.isna() & run.scores.group.isna()].set_index("measure")
    assert over_all.loc["attefa", "value"].dropna().between(0, 1).all()
    assert (over_all.loc["attefa_jsd", "value"] > 0).all()
    assert "uniform_f1_difference" in over_all.index
    assert {"attention", "attefa_adversary"} <= set(run.tokens.method)
    assert "adversarial_attention" not in run.description["settings"]["experiments"]


def test_a_model_whose_training_is_not_known_is_refused(tuned, tmp_path):
    _, data = tuned
    stranger = tiny_folder(tmp_path / "stranger", "bert", ("no", "yes"))
    with pytest.raises(InputError, match="how it was trained is not known"):
        heatcheck.run("attefa", stranger, data, out=tmp_path / "run")


@pytest.mark.parametrize("reading", [{"max_length": 10}, {"windows": True}])
def test_texts_are_read_as_they_were_in_training(tuned, reading):
    """Twins are: a model that is now read otherwise cannot be compared with them."""
    model, data = tuned
    given = finetune.load(TransformerSpec(str(model), **reading))
    with pytest.raises(InputError, match=r"attefa trains twins of .* which was without --max-length and --windows"):
        check_same_training(Request(data=str(data), experiments=("attefa",)), sources.load(str(data)), given)
    cut = replace(given, started_as=replace(given.started_as, max_length=8))
    with pytest.raises(InputError, match=r"which was with --max-length 8\. Give the same"):
        finetune.check_same_reading(cut, "attefa")


def test_a_model_trained_in_windows_reads_in_windows(tuned, tmp_path):
    model, _ = tuned
    shutil.copytree(model, tmp_path / "windows")
    description = tmp_path / "windows" / "heatcheck.json"
    content = json.loads(description.read_text())
    content["spec"]["windows"] = True
    description.write_text(json.dumps(content))
    given = finetune.load(TransformerSpec(str(tmp_path / "windows")))
    finetune.check_same_reading(given, "attefa")
    assert given.spec.windows


def test_another_tokenizer_is_refused(tuned, tmp_path):
    model, data = tuned
    changed = tmp_path / "changed"
    shutil.copytree(model, changed)
    text = json.loads((changed / "tokenizer.json").read_text())
    words = sorted(text["model"]["vocab"], key=text["model"]["vocab"].get)
    text["model"]["vocab"] = {word: i for i, word in enumerate([*words[:-2], words[-1], words[-2]])}
    (changed / "tokenizer.json").write_text(json.dumps(text))
    with pytest.raises(InputError, match=r"attefa trains twins .* the vocabularies of their tokenizers differ"):
        heatcheck.run("attefa", changed, data, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_has_no_attention_of_its_own_is_refused(tuned, tmp_path):
    model, data = tuned
    with pytest.raises(InputError, match="guided_mlp needs an attention model"):
        heatcheck.run("guided_mlp", model, data, out=tmp_path / "run")
    with pytest.raises(InputError, match=r"attefa needs an attention model .* or a transformer"):
        heatcheck.run("attefa", lambda texts: [[0.5, 0.5]] * len(texts), data, out=tmp_path / "run")


def test_attention_that_cannot_be_replaced_is_refused_before_any_training(tuned, tmp_path):
    _, data = tuned
    body = tiny_folder(tmp_path / "body", "xlnet")
    request = api.make_request(
        None, data, None, 0, {"spec": TransformerSpec(str(body)), "recipe": RECIPE, "threads": 1}
    )
    train_model(request, tmp_path / "model")
    with pytest.raises(InputError, match="has an attention of its own that cannot be replaced"):
        heatcheck.run("uniform_attention", tmp_path / "model", data, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    base = base_of(Request(), finetune.load(TransformerSpec(str(tmp_path / "model"))))
    assert not base.replaceable
    notes = EXPERIMENTS["trained_adversary"].notes(AdversaryConfig(seeds=(1, 2)), base)
    assert notes == [f"trained_adversary: {base.name}'s attention cannot be made uniform: no mark."]
