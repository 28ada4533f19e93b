"""The tests that train, on reviews small enough for seconds: twins, guides, adversaries, AtteFa, and what follows."""

import copy
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.spatial.distance import jensenshannon

import heatcheck
from heatcheck.batch import Example
from heatcheck.data import sources
from heatcheck.data.dataset import DEV, TEST, TRAIN
from heatcheck.errors import InputError
from heatcheck.experiments.attefa import AtteFaConfig, faithfulness, ratio
from heatcheck.experiments.guided_mlp import GuidedConfig, guided_notes
from heatcheck.experiments.seed_variance import SeedConfig
from heatcheck.experiments.trained.conclusions import Texts
from heatcheck.experiments.trained.guides import guide_weights, imposed
from heatcheck.experiments.trained.imitation import Imitation
from heatcheck.experiments.trained.jobs import Around, Training, twin
from heatcheck.experiments.trained.models import Trained, Twin, says, write_reached
from heatcheck.experiments.trained_adversary import (
    AdversaryConfig,
    adversary,
    area,
    one_adversary,
    price_of_lying,
    where_the_sweep_ended,
)
from heatcheck.experiments.uniform_attention import UniformConfig
from heatcheck.measure.distributions import LN2, jsd
from heatcheck.models.fit import Recipe
from heatcheck.models.loading import load_subject
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.spec import ModelSpec
from heatcheck.models.training import train
from heatcheck.results import ON_DEV
from tests.toys import small_subject, write_reviews

RECIPE = Recipe(epochs=4, vectors="none", learning_rate=0.01)
SPEC = ModelSpec(embedding_width=16, hidden=8)
ADVERSARY = replace(one_adversary(0.01, 3), lambdas=(0.0, 0.01))
CONFIGS = {
    "uniform_attention": UniformConfig(seeds=(1, 2, 3)),
    "seed_variance": SeedConfig(seeds=(1, 2)),
    "trained_adversary": replace(ADVERSARY, apart=2),
    "guided_mlp": GuidedConfig(
        guides=("uniform", "mlp", "base", "adversary", "gradient"),
        seeds=(1, 2),
        adversary=replace(ADVERSARY, lambdas=(0.01,)),
    ),
    "attefa": AtteFaConfig(seeds=(1, 2), bases=(1,), epochs=3),
}


@pytest.fixture(scope="module")
def tested(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    data = write_reviews(folder / "reviews.csv", 240)
    return heatcheck.audit(
        data=data, out=folder / "run", spec=SPEC, recipe=RECIPE, threads=1, experiments=tuple(CONFIGS), configs=CONFIGS
    )


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    data = sources.load(str(write_reviews(tmp_path_factory.mktemp("base") / "reviews.csv", 240)))
    return train(data, SPEC, RECIPE, seed=0), data


def over_all(run, measure: str, **wanted) -> pd.DataFrame:
    rows = run.scores[run.scores.example_id.isna() & run.scores.group.isna() & (run.scores.measure == measure)]
    for column, value in wanted.items():
        rows = rows[rows[column] == value]
    return rows


def carried_out(job: Training, base, data, folder: Path, **needed: Path):
    folder.mkdir(parents=True, exist_ok=True)
    job.work(Around(base, data, needed), folder, lambda done, at_least: None)
    return Trained({"it": folder})["it"]


def test_every_model_is_there_with_its_numbers(tested):
    texts = len(tested.examples)
    assert len(over_all(tested, "uniform_f1")) == 4 + 3 + 2  # base and 3 seeds, 3 uniform, and both means
    assert set(over_all(tested, "seed_jsd", statistic="mean").reference) == {"seed 1", "seed 2", "all seeds"}
    assert set(over_all(tested, "guided_f1", reference="all seeds").subject) == set(CONFIGS["guided_mlp"].guides)
    curve = over_all(tested, "trained_adversary_jsd", statistic="mean")
    assert set(zip(curve.setting, curve["at"], strict=True)) == {
        (name, weight) for name in ("seed 50", "seed 50, number 2") for weight in (0.0, 0.01)
    }
    assert over_all(tested, "trained_adversary_apart", statistic="mean").n.tolist() == [texts, texts]
    assert len(over_all(tested, "attefa", statistic="mean", setting="published")) == 4 + 1
    assert set(over_all(tested, "attefa", statistic="std", setting="published").reference) == {
        "adversary seed",
        "base seed",
    }
    aggregates = tested.scores[tested.scores.example_id.isna()]
    assert "predicted_class" not in set(aggregates.measure)
    assert (aggregates.value.isna() == aggregates.reason.notna()).all()
    assert {"attention", "attefa_adversary", "adversarial_attention"} <= set(tested.tokens.method)
    assert sum(method.startswith("trained_adversary(") for method in set(tested.tokens.method)) == 1
    once = tested.tokens.groupby(["example_id", "method", "position"]).size()
    assert (once == 1).all()


def test_jsd_tvd_and_attefa_stay_within_their_bounds(tested):
    per_text = tested.scores[tested.scores.example_id.notna()]
    for measure in ("seed_jsd", "uniform_jsd", "trained_adversary_jsd", "attefa_jsd"):
        values = per_text[per_text.measure == measure].value
        assert values.between(0, LN2).all()
    for measure in ("seed_tvd", "uniform_tvd", "trained_adversary_tvd", "attefa_tvd"):
        assert per_text[per_text.measure == measure].value.between(0, 1).all()
    assert over_all(tested, "attefa", statistic="mean").value.dropna().between(0, 1).all()


def alone(subject, example) -> tuple[np.ndarray, np.ndarray]:
    """Output and attention of one text."""
    (batch,) = subject.batches([example], 1)
    with torch.no_grad():
        encoded = subject.model.encode(subject.model.embed(batch), batch)
        attention = subject.model.attend(encoded, batch)
        probs = subject.model.probs(subject.model.classify(encoded, attention, batch))
    return probs[0].double().numpy(), attention[0, 0].double().numpy()


def test_distances_are_those_of_the_models_that_the_run_trained(tested):
    """For each model in the run's folder a plain loop over three texts; every reported row must be one of them."""
    steps = tested.folder / "steps"
    folders = [*steps.glob("train-*"), *steps.glob("training-*")]
    base, *more = (load_subject(TransformerSpec(str(folder)), "cpu") for folder in folders)
    twins = [one for one in more if one.spec.encoder == base.spec.encoder]
    texts = [Example(row.example_id, row.text, 0) for row in tested.examples.head(3).itertuples()]
    own, found = [alone(base, text) for text in texts], {"tvd": [], "jsd": []}
    for one in twins:
        pairs = list(zip(own, [alone(one, text) for text in texts], strict=True))
        found["tvd"].append([abs(p - q).sum() / 2 for (p, _), (q, _) in pairs])
        found["jsd"].append([jensenshannon(a, b) ** 2 for (_, a), (_, b) in pairs])
    scores = tested.scores[(tested.scores.statistic == "value") & ~tested.scores.subject.str.startswith("seed ")]
    for test, models in (("seed", 2), ("uniform", 3), ("trained_adversary", 4), ("attefa", 2)):
        for measure, known in found.items():
            rows = scores[scores.measure == f"{test}_{measure}"]
            by_model = rows.groupby(["reference", "setting", "at"], dropna=False)
            assert len(by_model) == models
            for _, model in by_model:
                values = model.set_index("example_id").value.loc[[text.id for text in texts]].to_numpy()
                assert np.abs(np.array(known) - values).max(1).min() < 1e-5


def test_what_every_adversary_reached_on_dev_texts_is_there(tested):
    """By it a verdict chooses among them."""
    files = (tested.folder / "steps").glob("training-*/reached.json")
    reached = sorted(json.loads(file.read_text())["tvd"] for file in files)
    found = {name: over_all(tested, f"{name}_tvd", statistic=ON_DEV) for name in ("attefa", "trained_adversary")}
    assert set(zip(found["attefa"].subject, found["attefa"].reference, strict=True)) == {
        (base, f"seed {seed}") for base in ("base", "seed 1") for seed in (1, 2)
    }
    assert len(found["trained_adversary"]) == 4
    assert set(pd.concat(found.values()).value) <= set(reached)
    assert set(pd.concat(found.values()).n) == {tested.description["dataset"]["sizes"][DEV]}


def test_f1_is_that_of_the_models_own_predictions(tested):
    found = over_all(tested, "uniform_f1", subject="base").iloc[0]
    own = over_all(tested, "f1").iloc[0]
    assert found.value == pytest.approx(own.value)
    gap = over_all(tested, "uniform_f1_difference").iloc[0]
    means = over_all(tested, "uniform_f1", reference="all seeds").set_index("subject").value
    assert gap.value == pytest.approx(means["attention"] - means["uniform"])
    assert gap["at"] == 0.01
    assert gap.low <= gap.value <= gap.high


def test_an_uniform_twin_spreads_its_attention_evenly(base, tmp_path):
    subject, data = base
    found = carried_out(Training("u", twin(subject, uniform=True), RECIPE, 1), subject, data, tmp_path / "u")
    (batch,) = subject.batches(data.splits[DEV][:5], 5)
    _, attention = found.says(batch)
    even = batch.attended / batch.attended.sum(1, keepdim=True)
    assert torch.allclose(attention[:, 0], even)


def test_without_a_wish_for_distance_an_adversary_approaches_the_base(base, tmp_path):
    subject, data = base
    config = AdversaryConfig(lambdas=(0.0,), epochs=25)
    found = carried_out(adversary(subject, config, 0.0, 1), subject, data, tmp_path / "imitator")
    stranger = carried_out(Training("s", twin(subject), RECIPE, 7), subject, data, tmp_path / "stranger")
    assert found.reached["tvd"] < 0.05
    assert found.reached["tvd"] < stranger.reached["tvd"]


def test_a_wish_for_distance_moves_attention(base, tmp_path):
    subject, data = base
    jsd = [
        carried_out(
            adversary(subject, AdversaryConfig(epochs=12), weight, 1), subject, data, tmp_path / f"{weight}"
        ).reached["jsd"]
        for weight in (0.0, 1.0)
    ]
    assert jsd[1] > jsd[0] + 0.1


def test_the_base_is_remembered_as_it_is(base, tmp_path):
    """The loss that is minimised with remembered outputs is the one that a plain loop over both models has."""
    subject, data = base
    job = adversary(subject, ADVERSARY, 0.01, 1)
    other, _ = job._untrained(Around(subject, data, {}))
    task = job._task(other, Around(subject, data, {}), other.rows(data.splits[TRAIN]))
    imitation = Imitation("kl", 0.01)
    for batch in subject.batches(data.splits[TRAIN][:20], 7):
        (wanted, base_attention), (probs, attention) = says(subject, batch), says(other, batch)
        plain = imitation.losses(probs, attention, wanted, [base_attention]).sum()
        assert float(task.loss(batch).detach()) == pytest.approx(float(plain), abs=1e-5)


def test_selection_on_training_loss_takes_the_lowest(base, tmp_path):
    subject, data = base
    job = replace(adversary(subject, AdversaryConfig(epochs=5), 0.01, 1), selected_on="train")
    history = carried_out(job, subject, data, tmp_path / "x").subject.history
    assert [e.selected_by for e in history] == [-e.loss for e in history]


def test_imposed_weights_add_up_to_one_and_zeros_are_even(base):
    subject, data = base
    (batch,) = subject.batches(data.splits[DEV][:4], 4)
    first = batch.example_ids[0]
    weights = {name: torch.rand(int(m.sum())) for name, m in zip(batch.example_ids, batch.mask, strict=True)}
    weights[first] = torch.zeros_like(weights[first])
    found = imposed(weights, batch)
    assert torch.allclose(found.sum(-1), torch.ones(4, 1))
    assert (found[:, 0][~batch.attended] == 0).all()
    assert torch.allclose(found[0, 0][batch.attended[0]], torch.tensor(1.0 / int(batch.attended[0].sum())))


def test_attention_as_a_guide_is_attention(base):
    subject, data = base
    examples = data.splits[DEV][:6]
    weights = guide_weights(subject, examples, "attention", generator=torch.Generator())
    for batch in subject.batches(examples, 3):
        assert torch.allclose(imposed(weights, batch), says(subject, batch)[1], atol=1e-6)


def test_a_guide_from_a_file_must_fit_the_texts(base, tmp_path):
    subject, data = base
    examples = data.splits[DEV][:2]
    (batch,) = subject.batches(examples, 2)
    lengths = dict(zip(batch.example_ids, batch.attended.sum(1).tolist(), strict=True))
    rows = [{"id": name, "weights": [1.0] * n} for name, n in lengths.items()]
    file = tmp_path / "weights.jsonl"

    def read(content):
        file.write_text("\n".join(json.dumps(row) for row in content))
        return guide_weights(subject, examples, f"file:{file}", generator=torch.Generator())

    assert torch.allclose(imposed(read(rows), batch).sum(-1), torch.ones(2, 1))
    with pytest.raises(InputError, match=rf"row 2: {len(rows[1]['weights']) + 1} weights for the text .* which has"):
        read([rows[0], {**rows[1], "weights": [*rows[1]["weights"], 1.0]}])
    with pytest.raises(InputError, match="no weights for the text"):
        read(rows[:1])
    with pytest.raises(InputError, match="row 1: a weight is below 0"):
        read([{**rows[0], "weights": [-1.0, *rows[0]["weights"][1:]]}, rows[1]])
    with pytest.raises(InputError, match=r"row 1: not a JSON object with id and weights .*not a list"):
        read([{**rows[0], "weights": "1" * len(rows[0]["weights"])}, rows[1]])


def test_attefa_is_the_published_ratio_of_means():
    """The paper's table 3, MLP on Mock-1, 2 and 10: TVD (half of ours), JSD and AtteFa as printed."""
    for half_tvd, apart, printed in ((0.231, 0.393, 0.8153), (0.246, 0.670, 0.5086), (0.249, 0.686, 0.5028)):
        assert ratio(np.array([[2 * half_tvd]]), np.array([[apart]]))[0, 0] == pytest.approx(printed, abs=0.001)
    # By hand: half of the way in attention (ln 2 / 2), a tenth in output: 0.1 / 0.5. Farther in output than in
    # attention counts as 1.
    assert ratio(np.array([[0.1, 0.9]]), np.array([[0.34657359, 0.34657359]]))[0] == pytest.approx([0.2, 1.0])
    assert np.isnan(ratio(np.array([[0.1]]), np.array([[1e-7]]))).all()


def hand_made(values: dict[tuple[str, str], tuple[list[float], list[float]]], truth, predicted) -> Texts:
    """Texts with TVD and JSD of each adversary of each base, and with what the bases predict."""
    names = [f"text {i}" for i in range(len(truth))]
    columns = [("attefa_tvd", base, seed, tvds) for (base, seed), (tvds, _) in values.items()]
    columns += [("attefa_jsd", base, seed, jsds) for (base, seed), (_, jsds) in values.items()]
    columns += [("attefa_uninformed_tvd", base, seed, [0.5] * len(truth)) for base, seed in values]
    columns += [("predicted_class", base, None, classes) for base, classes in predicted.items()]
    rows = [
        {"measure": m, "subject": s, "reference": r, "setting": None, "at": np.nan, "example_id": text,
         "group": None, "statistic": "value", "value": value}
        for m, s, r, column in columns
        for text, value in zip(names, column, strict=True)
    ]  # fmt: skip
    return Texts(pd.DataFrame(rows), pd.Series(dict(zip(names, truth, strict=True))), ("no", "yes"), 0)


def test_the_chance_of_the_mean_is_that_of_the_bases():
    """Two bases with AtteFa 0.2 and 0.6, whose adversaries all agree. By two numbers Student's t knows nearly nothing;
    eight adversaries that were independent would have 0.4 ± 0.18."""
    bases, seeds = ("base", "seed 7"), ("seed 1", "seed 2", "seed 3", "seed 4")
    far = [LN2] * 4
    values = {(b, s): ([0.2 + 0.4 * i] * 4, far) for i, b in enumerate(bases) for s in seeds}
    texts = hand_made(values, [0, 1, 0, 1], {base: [0, 1, 0, 1] for base in bases})
    rows = [r for r in faithfulness(texts, AtteFaConfig((1, 2, 3, 4), (7,))) if r.setting == "published"]
    mean = next(r for r in rows if r.subject == "all" and r.statistic == "mean")
    assert (mean.value, mean.low, mean.high) == pytest.approx((0.4, 0.0, 1.0))
    deviations = {r.reference: r.value for r in rows if r.statistic == "std"}
    assert deviations == pytest.approx({"adversary seed": 0.0, "base seed": 0.4 / math.sqrt(2)})


def test_deviations_by_source_leave_each_others_part_out():
    """By hand: adversaries 0.1, 0.3 and 0.2, 0.4 of two bases. Within: variance 0.02 each. The bases' means 0.2 and 0.3
    vary by 0.005, less than the 0.01 that their adversaries alone would make them: nothing is left for the base."""
    values = {
        (b, s): ([tvd] * 2, [LN2] * 2)
        for b, tvds in (("base", (0.1, 0.3)), ("seed 7", (0.2, 0.4)))
        for s, tvd in zip(("seed 1", "seed 2"), tvds, strict=True)
    }
    texts = hand_made(values, [0, 1], {"base": [0, 1], "seed 7": [0, 1]})
    rows = [r for r in faithfulness(texts, AtteFaConfig((1, 2), (7,))) if r.setting == "published"]
    deviations = {r.reference: r.value for r in rows if r.statistic == "std"}
    assert deviations == pytest.approx({"adversary seed": math.sqrt(0.02), "base seed": 0.0})


def test_the_variant_of_right_texts_counts_those():
    values = {(b, "seed 1"): ([0.1, 0.2, 0.3, 0.4], [LN2] * 4) for b in ("base", "seed 7")}
    texts = hand_made(values, [0, 1, 0, 1], {"base": [0, 1, 1, 0], "seed 7": [0, 0, 0, 0]})
    rows = [r for r in faithfulness(texts, AtteFaConfig((1,), (7,))) if r.measure == "attefa" and r.statistic == "mean"]
    n = {(r.setting, r.subject): r.n for r in rows}
    assert {subject: n["right", subject] for subject in ("base", "seed 7", "all")} == {"base": 2, "seed 7": 2, "all": 3}
    assert {n["published", subject] for subject in ("base", "seed 7", "all")} == {4}


def test_the_height_over_all_seeds_is_of_each_seeds_first_adversary():
    """The others are far from the first too, and not from the base alone: another curve."""
    rows = [
        {"measure": f"trained_adversary_{m}", "subject": "attention", "reference": "trained adversary", "setting": name,
         "at": at, "example_id": text, "group": None, "statistic": "value", "value": value}
        for name, height in (("seed 1", 0.1), ("seed 2", 0.3), ("seed 1, number 2", 0.9))
        for at, jsd in ((0.0, 0.2), (1.0, 0.4))
        for m, value in (("jsd", jsd), ("tvd", height))
        for text in ("a", "b")
    ] + [
        {"measure": "predicted_class", "subject": name, "reference": None, "setting": None, "at": at,
         "example_id": text, "group": None, "statistic": "value", "value": 1.0}
        for name in ("seed 1", "seed 2", "seed 1, number 2") for at in (0.0, 1.0) for text in ("a", "b")
    ]  # fmt: skip
    texts = Texts(pd.DataFrame(rows), pd.Series({"a": 1, "b": 0}), ("no", "yes"), 0)
    config = AdversaryConfig(lambdas=(0.0, 1.0), seeds=(1, 2), apart=2)
    found = {r.setting: r.value for r in price_of_lying(texts, config) if r.measure == "trained_adversary_area"}
    assert set(found) == {"seed 1", "seed 2", "seed 1, number 2", "all seeds"}
    assert found["all seeds"] == pytest.approx((found["seed 1"] + found["seed 2"]) / 2)
    areas = {r.setting: r for r in price_of_lying(texts, config) if r.measure == "trained_adversary_curve_area"}
    assert {name: r.value for name, r in areas.items()} == {name: pytest.approx(0.4 * found[name]) for name in found}
    assert areas["seed 1"].value == pytest.approx(0.2 * 0.1 / 2 + 0.2 * 0.1)  # a rise, then flat
    assert areas["all seeds"].low <= areas["all seeds"].value <= areas["all seeds"].high


def test_heads_in_another_order_are_no_lie(tmp_path):
    """A model whose heads stand in another order looks at the same words, as a test of it says."""
    data = sources.load(str(write_reviews(tmp_path / "reviews.csv", 60)))
    subject = train(data, replace(SPEC, heads=3), replace(RECIPE, epochs=1), seed=0)
    order = [2, 0, 1]
    other = copy.deepcopy(subject.model)
    attend = other.attend
    other.attend = lambda encoded, batch: attend(encoded, batch)[:, order]
    swapped = replace(subject, model=other)
    write_reached(tmp_path, swapped, subject, data.splits[DEV])
    reached = json.loads((tmp_path / "reached.json").read_text())
    assert [order[head] for head in reached["heads"]] == [0, 1, 2]
    assert reached["jsd"] == pytest.approx(0, abs=1e-6)
    (batch,) = subject.batches(data.splits[DEV][:6], 6)
    assert not torch.allclose(says(swapped, batch)[1], says(subject, batch)[1], atol=1e-3)
    assert torch.equal(Twin(swapped, reached).says(batch)[1], says(subject, batch)[1])


def test_adversaries_whose_heads_are_swapped_are_not_apart(tmp_path):
    """Both are far from the base, so that its order of heads says nothing of theirs."""
    data = sources.load(str(write_reviews(tmp_path / "reviews.csv", 60)))
    subjects = [train(data, replace(SPEC, heads=3), replace(RECIPE, epochs=1), seed=seed) for seed in (0, 1)]
    order, swapped = [1, 2, 0], copy.deepcopy(subjects[1].model)
    attend = swapped.attend
    swapped.attend = lambda encoded, batch: attend(encoded, batch)[:, order]
    other = replace(subjects[1], model=swapped)
    write_reached(tmp_path, other, subjects[0], data.splits[DEV], {"number 1": subjects[1]})
    (batch,) = subjects[0].batches(data.splits[DEV][:6], 6)
    found = Twin(other, json.loads((tmp_path / "reached.json").read_text()))
    assert torch.equal(found.beside("number 1", says(other, batch)[1]), says(subjects[1], batch)[1])


def test_several_heads_apart_are_compared_after_matching(tmp_path):
    data = write_reviews(tmp_path / "reviews.csv", 90)
    run = heatcheck.audit(
        data=data, out=tmp_path / "run", spec=replace(SPEC, heads=2), recipe=RECIPE, threads=1,
        experiments=("trained_adversary",),
        configs={"trained_adversary": replace(one_adversary(1.0, 3), apart=2)},
    )  # fmt: skip
    texts = run.scores[run.scores.example_id.notna() & (run.scores.measure == "trained_adversary_apart")]
    folders = [file.parent for file in (tmp_path / "run" / "steps").glob("*/reached.json")]
    models = [load_subject(TransformerSpec(str(folder))) for folder in folders]
    one, other = sorted((m for m in models if m.recipe.patience), key=lambda m: m.seed)  # not the marks beside them
    splits = sources.load(str(data)).splits

    def apart(examples: list[Example], order: list[int]) -> dict[str, float]:
        return {
            batch.example_ids[0]: float(jsd(says(one, batch)[1], says(other, batch)[1][:, order]).mean())
            for batch in one.batches(examples, 1)
        }

    order = min(([0, 1], [1, 0]), key=lambda order: sum(apart(splits[DEV], order).values()))
    wanted = apart(splits[TEST], order)
    assert dict(zip(texts.example_id, texts.value, strict=True)) == pytest.approx(wanted, abs=1e-5)


def test_attefa_and_its_variants_on_a_hand_made_table():
    """Two texts, one seed: means over texts first, then the ratio."""
    rows = [
        ("attefa_tvd", "base", "seed 1", {"a": 0.1, "b": 0.3}),
        ("attefa_jsd", "base", "seed 1", {"a": LN2, "b": LN2 / 2}),
        ("attefa_uninformed_tvd", "base", "seed 1", {"a": 0.5, "b": 0.3}),
        ("predicted_class", "base", None, {"a": 1.0, "b": 1.0}),
        ("predicted_class", "adversary of base, seed 1", None, {"a": 1.0, "b": 0.0}),
    ]
    frame = pd.DataFrame(
        [
            {"measure": m, "subject": s, "reference": r, "setting": None, "at": np.nan, "example_id": text,
             "group": None, "statistic": "value", "value": value}
            for m, s, r, values in rows
            for text, value in values.items()
        ]
    )  # fmt: skip
    texts = Texts(frame, pd.Series({"a": 1, "b": 0}), ("no", "yes"), 0)
    found = {
        row.setting: row.value
        for row in faithfulness(texts, AtteFaConfig(seeds=(1,), one_seed=True))
        if row.measure == "attefa" and row.subject == "base"
    }
    assert found["published"] == pytest.approx(0.2 / 0.75)
    assert found["relative"] == pytest.approx(0.2 / 0.4 / 0.75)
    assert found["right"] == pytest.approx(0.1)


@pytest.mark.parametrize(("guides", "said"), [(("uniform", "base"), 0), (("base", "mlp"), 1), (("uniform",), 1)])
def test_guides_without_one_to_compare_with_are_noted(guides, said):
    notes = guided_notes(GuidedConfig(guides=guides), None)
    assert sum("nothing to compare" in note for note in notes) == said == len(notes)


def test_the_area_under_the_curve():
    x, y = np.array([[0.4, 0.1, 0.6]]), np.array([[0.2, 0.1, 0.2]])
    assert area(x, y)[0] == pytest.approx(0.1 * 0.1 / 2 + 0.3 * 0.15 + 0.2 * 0.2)
    assert area(x, 2 * y)[0] == pytest.approx(2 * area(x, y)[0])


def test_a_sweep_stops_when_attention_is_far_enough(base, tmp_path):
    from heatcheck.experiments.trained_adversary import adversary_models, adversary_name

    subject, _ = base
    config = AdversaryConfig(lambdas=(1.0, 0.0, 0.1, 0.01), seeds=(50, 257), stop_at=0.4)

    def planned(done):
        jobs = [(job.seed, job.imitation.weight) for job in adversary_models(subject, config, done)]
        lambdas = [weight for seed, weight in jobs if seed == 50]
        assert jobs == [(seed, weight) for seed in config.seeds for weight in lambdas]  # the same for all seeds
        return lambdas

    def finished(weight, *jsds):
        folders = [tmp_path / f"{weight} {seed}" for seed in config.seeds]
        for folder, far in zip(folders, jsds, strict=True):
            folder.mkdir(exist_ok=True)
            (folder / "reached.json").write_text(json.dumps({"jsd": far}))
        return {adversary_name(weight, seed): folder for seed, folder in zip(config.seeds, folders, strict=True)}

    assert planned({}) == [0.0, 0.01]
    so_far = finished(0.0, 0.1, 0.2) | finished(0.01, 0.3, 0.5)
    assert planned(so_far) == [0.0, 0.01, 0.1, 1.0]  # one seed is far, one is not
    assert planned(so_far | finished(0.1, 0.45, 0.3)) == [0.0, 0.01, 0.1]


def test_a_sweep_that_ended_early_says_what_was_not_tried():
    means = pd.DataFrame({"measure": "trained_adversary_jsd", "at": [0.0, 0.01, 0.0, 0.01]})
    config = AdversaryConfig(lambdas=(1.0, 0.0, 0.1, 0.01), stop_at=0.4)
    said = where_the_sweep_ended(means, config)
    assert said is not None
    assert "ended at λ = 0.01, where every seed has reached a JSD of 0.4" in said
    assert said.endswith("Not tried: 0.1, 1.")
    assert where_the_sweep_ended(means, replace(config, lambdas=(0.0, 0.01))) is None
    assert where_the_sweep_ended(means, replace(config, stop_at=None)) is None


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (lambda: SeedConfig(seeds=(1,)), "at least 2 seeds, not 1"),
        (lambda: SeedConfig(seeds=(1, 2, 1)), "the seed 1 is given twice"),
        (lambda: UniformConfig(seeds=(1, 2)), "at least 3 seeds"),
        (lambda: UniformConfig(margin=-1), "margin -1"),
        (lambda: AdversaryConfig(lambdas=(0.1, -0.1)), "λ = -0.1 is below 0"),
        (lambda: AdversaryConfig(lambdas=(0.1, 0.1)), "a λ is given twice"),
        (lambda: AdversaryConfig(lambdas=()), "no λ"),
        (lambda: AdversaryConfig(lambdas=(0.1, math.inf)), "λ = inf is not a number"),
        (lambda: AdversaryConfig(lambdas=(math.nan,)), "λ = nan is not a number"),
        (lambda: AdversaryConfig(stop_at=math.nan), "stop at a JSD of nan.*between 0 and 0.693"),
        (lambda: AdversaryConfig(stop_at=math.inf), "stop at a JSD of inf.*between 0 and 0.693"),
        (lambda: UniformConfig(margin=math.nan), "margin nan"),
        (lambda: GuidedConfig(guides=("sunlight",)), "sunlight"),
        (lambda: GuidedConfig(guides=("uniform", "base", "uniform")), "the guide uniform is named twice"),
        (lambda: AtteFaConfig(seeds=(3, 3)), "given twice"),
        (lambda: ModelSpec(heads=0), "too few"),
        (lambda: ModelSpec(heads=2, task="pair"), "single texts"),
    ],
)
def test_wrong_settings_get_a_sentence(config, said):
    with pytest.raises(InputError, match=said):
        config()


def test_a_model_of_other_texts_is_refused(base, tmp_path):
    from heatcheck.models import checkpoint

    subject, _ = base
    checkpoint.save(subject, tmp_path / "model")
    other = write_reviews(tmp_path / "other.csv", 100, seed=5)
    with pytest.raises(InputError, match="was trained on other texts"):
        heatcheck.run("seed_variance", tmp_path / "model", other, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_of_unknown_training_is_refused():
    examples = [Example("a", "w1 w2", 0), Example("b", "w3", 1)]
    stranger = replace(small_subject(examples), recipe=None)
    assert twin(stranger)
    from heatcheck.experiments.trained.jobs import recipe_of

    with pytest.raises(InputError, match="how it was trained is not known"):
        recipe_of(stranger)


@pytest.mark.parametrize(
    "changes",
    [
        {"encoder": "bilstm", "weighting": "entmax"},
        {"encoder": "mlp", "attention": "dot"},
        {"encoder": "gru", "temperature": 0.25},
        {"encoder": "cnn"},
        {"encoder": "transformer"},
    ],
    ids=lambda changes: "-".join(str(value) for value in changes.values()),
)
def test_attefa_of_every_encoder_and_form_of_attention_is_that_of_its_two_models(changes, tmp_path):
    data = write_reviews(tmp_path / "reviews.csv", 120)
    run = heatcheck.run(
        "attefa", data=data, out=tmp_path / "run", spec=replace(SPEC, **changes), recipe=RECIPE, threads=1,
        configs={"attefa": AtteFaConfig(seeds=(1,), one_seed=True, epochs=2)},
    )  # fmt: skip
    steps = run.folder / "steps"
    folders = [*steps.glob("train-*"), *steps.glob("training-*")]
    base, liar = (load_subject(TransformerSpec(str(folder)), "cpu") for folder in folders)
    assert all(getattr(one.spec, name) == value for one in (base, liar) for name, value in changes.items())
    texts = [Example(row.example_id, row.text, 0) for row in run.examples.itertuples()]
    pairs = [(alone(base, text), alone(liar, text)) for text in texts]
    moved = np.mean([abs(p - q).sum() / 2 for (p, _), (q, _) in pairs])
    apart = np.mean([jensenshannon(a, b) ** 2 for (_, a), (_, b) in pairs])
    wanted = {"attefa": min(moved / (apart / LN2), 1), "attefa_tvd": moved, "attefa_jsd": apart}
    for measure, value in wanted.items():
        rows = over_all(run, measure, subject="base", statistic="mean")
        assert rows[rows.setting.isin(["published"]) | rows.setting.isna()].value.tolist() == pytest.approx(
            [value], rel=1e-3, abs=1e-6
        )


def test_several_heads_are_trained_and_compared(tmp_path):
    data = write_reviews(tmp_path / "reviews.csv", 120)
    run = heatcheck.audit(
        data=data, out=tmp_path / "run", spec=replace(SPEC, heads=3), recipe=RECIPE, threads=1,
        experiments=("attefa", "seed_variance"),
        configs={"attefa": AtteFaConfig((1,), one_seed=True, epochs=2), "seed_variance": SeedConfig(seeds=(1, 2))},
    )  # fmt: skip
    assert "adversarial_attention" not in run.description["settings"]["experiments"]  # for one head only
    assert len(over_all(run, "attefa", statistic="mean", setting="published")) == 2
    with pytest.raises(InputError, match="one head"):
        heatcheck.run("permutation", run.description["model"]["folder"], data, out=tmp_path / "other")


def test_multi_class_and_pairs_are_served(tmp_path):
    import random

    rng = random.Random(0)
    words = {"a": ["red", "rose"], "b": ["blue", "sky"], "c": ["green", "leaf"]}
    rows = ["text,hypothesis,label,split"]
    for i in range(120):
        label = "abc"[i % 3]
        text = " ".join(rng.sample([rng.choice(words[label]), "the", "is", "here", "very"], 4))
        rows.append(f"{text},it is so,{label},{'train' if i < 80 else 'dev' if i < 100 else 'test'}")
    file = tmp_path / "pairs.csv"
    file.write_text("\n".join(rows))
    for spec in (SPEC, replace(SPEC, pairing="comparison")):
        run = heatcheck.audit(
            data=file, out=tmp_path / f"run-{spec.pairing}", spec=spec, recipe=RECIPE, threads=1,
            experiments=("attefa", "guided_mlp"),
            configs={
                "attefa": AtteFaConfig(seeds=(1,), one_seed=True, epochs=2),
                "guided_mlp": GuidedConfig(seeds=(1,), one_seed=True, guides=("uniform", "base")),
            },
        )  # fmt: skip
        published = over_all(run, "attefa", statistic="mean", setting="published")
        assert len(published)
        assert published.value.between(0, 1).all()
        assert set(over_all(run, "guided_f1").setting) == {"micro"}


def test_question_answering_is_served(tmp_path):
    """Outputs are over the candidates of each text."""
    places = ("hall", "attic", "garden")
    story = "".join(
        f"1 Mary went to the {one}.\n2 John went to the {two}.\n3 Where is Mary?\t{one}\t1\n"
        for one in places for two in places if one != two
    )  # fmt: skip
    folder = tmp_path / "tasks_1-20_v1-2" / "en-10k"
    folder.mkdir(parents=True)
    (folder / "qa1_single-supporting-fact_train.txt").write_text(story * 15)
    (folder / "qa1_single-supporting-fact_test.txt").write_text(story * 2)
    run = heatcheck.audit(
        data="babi-1", data_dir=tmp_path, out=tmp_path / "run", spec=SPEC, recipe=RECIPE, threads=1,
        experiments=("attefa",), configs={"attefa": AtteFaConfig(seeds=(1,), one_seed=True, epochs=2)},
    )  # fmt: skip
    assert all(len(example.candidates) == 2 for example in sources.load("babi-1", data_dir=tmp_path).splits[TEST])
    assert over_all(run, "attefa_tvd", statistic="mean").value.between(0, 1).all()
    published = over_all(run, "attefa", statistic="mean", setting="published")
    assert len(published)
    assert published.value.between(0, 1).all()


def test_a_training_that_diverges_stops(base, tmp_path):
    subject, data = base
    job = adversary(subject, ADVERSARY, 0.01, 1)
    folder = tmp_path / "job"
    folder.mkdir()
    wild = replace(job, recipe=replace(job.recipe, learning_rate=1e38, epochs=6))
    said = (
        "adversary λ=0.01, seed 1, trained as bilstm-additive was: Training diverged in epoch 1: the loss is not finite"
    )
    with pytest.raises(InputError, match=said):
        wild.work(Around(subject, data, {}), folder, lambda done, at_least: None)
