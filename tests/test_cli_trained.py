"""The commands of the tests that train, from words to tables and back, and wrong input."""

import sys
from dataclasses import replace

import pytest

from heatcheck import cli
from heatcheck.api import Run
from heatcheck.company import with_company
from heatcheck.data.sources import load
from heatcheck.experiments import EXPERIMENTS
from heatcheck.experiments.uniform_attention import UniformConfig
from heatcheck.request import Request
from heatcheck.settings import trained_configs
from tests.toys import write_reviews


def main(arguments: list[str]) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["heatcheck", *arguments])
        patch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as stop:
            cli.main()
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli-trained")
    data = write_reviews(folder / "reviews.csv", 160)
    quick = ["--epochs", "2", "--vectors", "none", "--threads", "1"]
    assert main(["train", "--encoder", "mlp", "--data", str(data), "--out", str(folder / "model"), *quick]) == 0
    return folder / "model", data


def command(model, *more: str) -> list[str]:
    folder, data = model
    return ["run", more[0], "--model", str(folder), "--data", str(data), "--threads", "1", *more[1:]]


COMPANY = {"seed_variance": {"adversarial_attention"}}
COMPANY["trained_adversary"] = {"adversarial_attention", "seed_variance", "uniform_attention"}


@pytest.mark.parametrize(
    ("flags", "headline"),
    [
        (["uniform_attention", "--seeds", "1,2,3", "--margin", "0.02"], "uniform_f1_difference"),
        (["seed_variance", "--seeds", "1,2"], "seed_jsd"),
        (["guided_mlp", "--seeds", "1,2", "--guides", "uniform,base,gradient"], "guided_f1"),
        (["trained_adversary", "--lambdas", "0,0.1", "--adversary-epochs", "2"], "trained_adversary_area"),
        (["attefa", "--seeds", "1", "--one-seed", "--adversary-epochs", "2", "--adversary-patience", "1"], "attefa"),
    ],
)
def test_every_test_runs_from_the_command_line(model, tmp_path, flags, headline):
    assert main([*command(model, *flags), "--out", str(tmp_path / "run")]) == 0
    run = Run(tmp_path / "run")
    assert headline in set(run.scores.measure)
    assert run.description["status"] == "finished"
    unasked = [note for note in run.description["notes"] if note.startswith("Not asked for")]
    named = {name.strip() for note in unasked for name in note.partition(": ")[2].rstrip(".").split(",")}
    assert named == COMPANY.get(flags[0], set())
    assert named | {flags[0]} == set(run.scores.experiment) - {"performance", "explain"}
    page = (tmp_path / "run" / "report.html").read_text()
    assert f'id="{flags[0]}"' in page


def test_company_has_the_seeds_that_were_given_or_stays_away(model, tmp_path):
    flags = ["trained_adversary", "--seeds", "1,2", "--lambdas", "0.1", "--adversary-epochs", "1"]
    assert main([*command(model, *flags), "--out", str(tmp_path / "run")]) == 0
    description = Run(tmp_path / "run").description
    chosen = description["settings"]["experiments"]
    assert chosen["trained_adversary"]["seeds"] == chosen["seed_variance"]["seeds"] == [1, 2]
    assert "uniform_attention" not in chosen
    assert any(note.startswith("Not in the pictures") and "uniform_attention" in note for note in description["notes"])


@pytest.mark.parametrize(
    ("asked", "chosen", "found"),
    [
        ({"trained_adversary": (0, 1, 2)}, {"seed_variance": (1, 2)}, ["uniform_attention"]),  # 0 is the model's own
        ({"trained_adversary": (1, 2, 3)}, {"seed_variance": (1, 2, 3), "uniform_attention": (1, 2, 3)}, []),
        ({"seed_variance": (4, 5), "trained_adversary": (1, 2, 3)}, {"uniform_attention": (1, 2, 3)}, []),
        ({"seed_variance": None, "trained_adversary": (1, 2, 3)}, {"uniform_attention": (1, 2, 3)}, []),
        ({"trained_adversary": None}, {"uniform_attention": UniformConfig().seeds}, []),
    ],
)
def test_whose_seeds_company_has(model, asked, chosen, found):
    configs = {n: replace(EXPERIMENTS[n].config(), **({} if s is None else {"seeds": s})) for n, s in asked.items()}
    request = Request(experiments=tuple(asked), configs=configs)
    made, notes = with_company(request, load(str(model[1])), None)
    assert {name: made.config(name).seeds for name in chosen} == chosen
    away = [name for note in notes if note.startswith("Not in") for name in note.rstrip(".").split(": ")[1].split(", ")]
    assert away == found
    assert not set(away) & set(made.experiments)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["trained_adversary", "--lambdas", "-0.1"], "below 0"),
        (["trained_adversary", "--lambdas", "much"], "not numbers"),
        (["guided_mlp", "--lambdas", "0,0.01"], "--lambdas is not for guided_mlp"),
        (["guided_mlp", "--guide-lambda=-1"], "--guide-lambda: λ = -1 is below 0"),
        (["trained_adversary", "--lambdas=0,-1"], "--lambdas: λ = -1 is below 0"),
        (["trained_adversary", "--apart", "-1"], "-1 adversaries for each λ are too few. Give --apart 1 or more."),
        (["trained_adversary", "--guide-lambda", "1"], "--guide-lambda is not for trained_adversary"),
        (["guided_mlp", "--guides", "uniform,base", "--guide-lambda", "1"], "and --guides names none"),
        (["seed_variance", "--seeds", "1"], "at least 2 seeds, not 1: --seeds 1,2,3 for example."),
        (["attefa", "--seeds", "1"], "attefa needs at least 2 seeds, not 1: --seeds 1,2,3 for example. Add --one-seed"),
        (["guided_mlp", "--seeds", "1"], "guided_mlp needs at least 2 seeds, not 1"),
        (["trained_adversary", "--seeds", "1"], "trained_adversary needs at least 2 seeds, not 1"),
        (["attefa", "--one-seed"], "attefa: --one-seed, and 3 seeds. Name the one with --seeds, or leave it out."),
        (["seed_variance", "--one-seed"], "--one-seed is not for seed_variance"),
        (["seed_variance", "--seeds", "1,1"], "given twice"),
        (["seed_variance", "--margin", "0.1"], "--margin is not for seed_variance"),
        (["correlation", "--seeds", "1,2"], "--seeds is not for correlation"),
        (["guided_mlp", "--guides", "moon"], "moon"),
        (["trained_adversary", "--select-on", "luck"], "'luck'. Give --select-on one of dev, test, train."),
        (["trained_adversary", "--lambdas", "nan"], "--lambdas: λ = nan is not a number"),
        (["trained_adversary", "--stop-at", "inf"], "cannot stop at a JSD of inf. Give --stop-at a number between"),
        (["seed_variance", "--seeds", "0,1"], "0 is the seed of mlp-additive itself"),
        (["guided_mlp", "--guides", "uniform,uniform"], "the guide uniform is named twice"),
        (["guided_mlp", "--guides", "uniform,file:nothere.jsonl"], "nothere.jsonl: there is no such file of weights"),
    ],
)
def test_wrong_flags_get_a_sentence_and_leave_nothing(model, tmp_path, capsys, flags, said):
    assert main([*command(model, *flags), "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert said in " ".join(error.split())
    assert "Traceback" not in error
    assert not (tmp_path / "run").exists()


def test_mock_data_of_own_words(tmp_path):
    files = []
    for name, words in (("bad", "bad\npoor\ndull"), ("good", "good\ngreat\nfine")):
        files.append(tmp_path / f"{name}.txt")
        files[-1].write_text(words)
    flags = ["--data", "mock-2(train=60, dev=20, test=10)", "--words", str(files[0]), "--words", str(files[1])]
    quick = ["--encoder", "mlp", "--epochs", "1", "--vectors", "none", "--threads", "1"]
    assert main(["train", *flags, *quick, "--out", str(tmp_path / "model")]) == 0
    run = ["run", "ground_truth", "--model", str(tmp_path / "model"), *flags, "--methods", "attention,gradient"]
    assert main([*run, "--out", str(tmp_path / "run")]) == 0


def test_an_adversarys_flags_reach_its_training():
    found = trained_configs(
        ["attefa", "trained_adversary", "guided_mlp"], {"adversary-epochs": 30, "adversary-patience": 20}
    )
    for config in (found["attefa"], found["trained_adversary"], found["guided_mlp"].adversary):
        assert (config.epochs, config.patience) == (30, 20)


def test_a_sweep_does_not_change_the_adversary_that_guides():
    found = trained_configs(["guided_mlp", "trained_adversary"], {"lambdas": "0,1", "guide-lambda": 0.01})
    assert found["trained_adversary"].lambdas == (0, 1)
    assert found["guided_mlp"].adversary.lambdas == (0.01,)
    assert "guided_mlp" not in trained_configs(["guided_mlp", "trained_adversary"], {"lambdas": "0,1"})
