"""Single texts: what `explainer(...).attribute(...)` gives back, for every way to hold a model; and other packages'
methods."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from tokenizers import normalizers
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import heatcheck
from heatcheck.errors import InputError
from heatcheck.explain import EXPLAINERS, plugins
from heatcheck.explain.types import ProbabilityOf
from heatcheck.models import checkpoint
from heatcheck.models.given import subject_of
from heatcheck.models.pretrained import TransformerSpec, load_pretrained
from heatcheck.single import TextExplainer, explain_text
from tests.explain.families import family_subject
from tests.tiny import tiny_folder
from tests.toys import random_examples, small_subject

NASTY = 'good <b>film</b> \x00 \x1b[31m \u202e not 😀 "fun" \'&'


def predict(texts):
    """Each "good" speaks for yes."""
    p = np.array([0.1 + 0.3 * min(" ".join(t if isinstance(t, tuple) else [t]).count("good"), 3) for t in texts])
    return np.stack([1 - p, p], axis=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_folder(tmp_path_factory.mktemp("model") / "tiny", "bert", ("neg", "pos"))


def test_scores_are_the_methods_own_and_stand_on_their_characters():
    subject = family_subject("bert")
    text, pair = "Not a good film", "acting, 映画"
    found = heatcheck.explainer("input_x_gradient", subject, special_tokens=True).attribute((text, pair), target="b")
    frame = found.to_frame()
    assert list(frame.columns) == ["text", "segment", "word", "token", "start", "end", "score", "method", "target"]
    assert set(frame["method"]) == {"gradient_x_input"}
    assert set(frame["target"]) == {"b"}
    (batch,) = subject.batches([replace(random_examples(1)[0], id="x", text=text, pair=pair)], 1)
    expected = EXPLAINERS["gradient_x_input"].explain(subject.model, batch, ProbabilityOf({"x": 1})).scores[0]
    assert frame["score"].tolist() == pytest.approx(expected.tolist())
    marks = frame[frame["word"].isna()]
    assert marks["token"].tolist() == ["[CLS]", "[SEP]", "[SEP]"]
    for row in frame[frame["word"].notna()].itertuples():
        assert row.token == (pair if row.segment else text)[row.start : row.end]
    assert frame["token"].tolist()[-5:] == ["ing", ",", "映", "画", "[SEP]"]


def test_a_words_score_is_the_sum_of_its_pieces():
    found = heatcheck.explainer("gradient_x_input", family_subject("bert")).attribute("acting in films")
    tokens, words = found.to_frame(), found.words()
    assert words["token"].tolist() == ["acting", "in", "films"]
    assert tokens["token"].tolist()[:2] == ["act", "ing"]
    assert words["score"].tolist() == pytest.approx(tokens.groupby("word")["score"].sum().tolist())


def test_a_text_is_scored_the_same_alone_and_in_company():
    explainer = heatcheck.explainer("lime", family_subject("bert"), samples=30)
    texts = ["good film", ("sad", "not fun"), "good film", "a"]
    together = explainer.attribute(texts)
    assert len(together) == 4
    for text, one in zip(texts, together, strict=True):
        (alone,) = explainer.attribute(text)
        assert (one.text, one.pair) == (text if isinstance(text, tuple) else (text, None))
        assert [t.score for t in one.tokens] == pytest.approx([t.score for t in alone.tokens], abs=1e-5)
    other = heatcheck.explainer("lime", family_subject("bert"), samples=30, seed=1).attribute("good film")
    assert [t.score for t in other[0].tokens] != pytest.approx([t.score for t in together[0].tokens], abs=1e-4)


def test_targets_by_name_by_number_and_for_each_text():
    explainer = TextExplainer("occlusion", subject_of(predict, labels=("no", "yes")))
    for_yes, for_no, predicted = explainer.attribute(["good film"] * 3, target=["yes", 0, None])
    assert (for_yes.target, for_no.target, predicted.target) == ("yes", "no", "no")
    assert for_yes.tokens[0].score == pytest.approx(0.3)
    assert for_no.tokens[0].score == pytest.approx(-0.3)
    assert for_no.probability == for_no.target_probability == pytest.approx(0.6)
    assert for_yes.target_probability == pytest.approx(0.4)


@pytest.mark.parametrize("kind", ["folder", "path", "loaded", "subject", "ours", "function"])
def test_every_way_to_hold_a_model(kind, folder, tmp_path):
    checkpoint.save(small_subject(random_examples(4)), tmp_path / "ours")
    loaded = (AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))
    models = {
        "folder": str(folder),
        "path": folder,
        "loaded": loaded,
        "subject": load_pretrained(TransformerSpec(str(folder))),
        "ours": str(tmp_path / "ours"),
        "function": predict,
    }
    found = heatcheck.explainer("leave_one_out", models[kind]).attribute("w1 w2 good")
    assert found.words()["token"].tolist() == ["w1", "w2", "good"]
    labels = {"ours": ("class 0", "class 1"), "function": ("class 0", "class 1")}.get(kind, ("neg", "pos"))
    assert found[0].target in labels


def test_a_loaded_model_is_used_without_dropout_and_left_in_its_mode(folder):
    network = AutoModelForSequenceClassification.from_pretrained(folder).train()
    network.classifier.eval()
    explainer = heatcheck.explainer("gradient", (network, AutoTokenizer.from_pretrained(folder)))
    modes = [module.training for module in network.modules()]
    assert modes.count(False) == 1
    first = explainer.attribute("good film")
    assert [module.training for module in network.modules()] == modes
    by_folder = heatcheck.explainer("gradient", str(folder)).attribute("good film")
    assert first.to_frame()["score"].tolist() == pytest.approx(by_folder.to_frame()["score"].tolist())
    with pytest.raises(InputError, match="attention layer 9"):
        heatcheck.explainer("attention", (network, AutoTokenizer.from_pretrained(folder)), layer=9).attribute("good")
    assert [module.training for module in network.modules()] == modes


@pytest.mark.parametrize("method", ["gradient", "attention", "leave_one_out", "lime(samples=9)"])
def test_a_loaded_decoder_without_a_pad_id_is_left_without(tmp_path, method):
    folder = tiny_folder(tmp_path / "gpt2", "gpt2")
    network = AutoModelForSequenceClassification.from_pretrained(folder)
    network.config.pad_token_id = None
    before = network.config.to_dict()
    explainer = heatcheck.explainer(method, (network, AutoTokenizer.from_pretrained(folder)), device="cpu")
    assert network.config.to_dict() == before
    texts = ["good film", "a bad film indeed"]
    found = explainer.attribute(texts).to_frame()["score"].tolist()
    assert network.config.to_dict() == before
    by_folder = heatcheck.explainer(method, str(folder), device="cpu").attribute(texts)
    assert found == pytest.approx(by_folder.to_frame()["score"].tolist())


def test_a_function_that_answers_by_lot_is_said_to():
    def dice(texts):
        p = np.random.default_rng().uniform(0.3, 0.6, len(texts))
        return np.stack([1 - p, p], axis=1)

    (found,) = heatcheck.explainer("occlusion", dice).attribute("a good film").notes
    assert "gives other answers when it is asked again" in found[0]
    assert heatcheck.explainer("occlusion", predict).attribute("a good film").notes == [()]


def test_notes_say_what_a_reader_must_know():
    bert = family_subject("bert")
    captum = heatcheck.explainer("deep_lift_captum", bert).attribute("a good film")
    assert any("not ranked" in note for note in captum.notes[0])
    rough = heatcheck.explainer("integrated_gradients", bert, steps=1, most_steps=1).attribute("a good film")
    assert rough.delta[0] > 0.05
    assert rough.notes[0] == ("not ranked: its scores do not add up to what they explain",)
    exact = heatcheck.explainer("deep_lift", bert).attribute("a good film")
    assert exact.delta[0] < 0.01
    assert exact.notes == [()]
    assert heatcheck.explainer("gradient", bert).attribute("film").delta == [None]
    assert "seed" in heatcheck.explainer("lime", bert, samples=9).attribute("a film").notes[0][0]
    short, long = (
        heatcheck.explainer("kernel_shap", predict, samples=60).attribute(["a good film", "good film " * 6]).notes
    )
    assert short == ()  # every coalition is run: nothing is drawn
    assert "seed" in long[0]
    cut = heatcheck.explainer("gradient", bert).attribute("good " * 100)
    assert cut.notes[0] == (
        "the text is longer than the model takes; not read at its end: 38 words",
    )  # 62 and two marks
    *read, rest = cut.heatmaps[0].parts(0)
    assert rest.unread
    assert len(rest.text.split()) == 38
    assert not any(part.unread for part in read)


def test_default_methods_are_the_audited_ones_and_a_refusal_costs_only_itself():
    found, left_out = explain_text(family_subject("longformer"), "a good film")
    assert [note.split(" left out: ")[0] for note in left_out] == [
        "attention, rollout were",
        "attention_x_gradient was",
    ]
    assert {"gradient", "deep_lift", "lime(samples=300)", "leave_one_out"} <= {one.method for one in found}
    for family in ("xlnet", "deberta"):
        assert explain_text(family_subject(family), "a good film")[1] == []
    black, _ = explain_text(subject_of(predict), "a good film", ["shap"])
    assert black[0].method == "kernel_shap"
    with pytest.raises(
        InputError, match="saliency needs a model that can be entered at its word embeddings, which predict is not"
    ):
        explain_text(subject_of(predict), "a good film", ["saliency"])


MISTAKES = {
    "empty": (lambda e: e.attribute("  \n"), r"The text '  \\n' is empty. Give a text with words."),
    "empty pair": (lambda e: e.attribute(("good", "")), "The second text '' is empty."),
    "number": (lambda e: e.attribute(7), "7 is not a text, a"),
    "triple": (lambda e: e.attribute(("a", "b", "c")), "is not a text, a \\(text, pair\\), or a list of these"),
    "surrogate": (lambda e: e.attribute("go\udc80od"), r"character 2: not valid Unicode."),
    "class": (lambda e: e.attribute("good", target="great"), "no class 'great'. It has: 'a', 'b', 'c'."),
    "class number": (lambda e: e.attribute("good", target=3), "no class 3"),
    "targets": (lambda e: e.attribute(["good"], target=["a", "b"]), "There are 1 texts and 2 targets."),
    "method": (lambda e: heatcheck.explainer("lyme", e.subject), "There is no explanation method 'lyme'"),
    "setting": (lambda e: heatcheck.explainer("lime", e.subject, sample=2), "there is no setting 'sample'. It has: sa"),
    "model": (lambda e: heatcheck.explainer("lime", 7), "A int is not a model that can be explained."),
    "network": (lambda e: heatcheck.explainer("lime", (1, 2)), "the first is a int, not a loaded model"),
    "function": (lambda e: heatcheck.explainer("lime", lambda texts: [0.1]), "gives numbers of shape \\(1,\\) for one"),
    "failing": (lambda e: heatcheck.explainer("lime", lambda texts: 1 / 0), "fails \\(ZeroDivisionError: .*labels"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_answered_in_a_sentence(mistake):
    call, sentence = MISTAKES[mistake]
    with pytest.raises(InputError, match=sentence):
        call(TextExplainer("gradient", family_subject("bert")))


def test_a_model_of_pairs_is_not_given_a_single_text():
    subject = small_subject(random_examples(4, "pair", labels=3), labels=3)
    with pytest.raises(InputError, match=r"given a single text\. Give the second one: --pair, in Python \(text"):
        TextExplainer("gradient", subject).attribute("w1")
    assert len(TextExplainer("gradient", subject).attribute(("w1 w2", "w3")).words()) == 3


def test_a_text_that_no_tokenizer_keeps_is_refused(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.backend_tokenizer.normalizer = normalizers.BertNormalizer()  # takes control characters out
    explainer = heatcheck.explainer("gradient", (AutoModelForSequenceClassification.from_pretrained(folder), tokenizer))
    refusal = r"The text '\\x00\\u200b' has no word that the model's tokenizer keeps"
    with pytest.raises(InputError, match=refusal):
        explainer.attribute("\x00\u200b")
    with pytest.raises(InputError, match=f"^{refusal}"):  # not: this and that method was left out
        explain_text(explainer.subject, "\x00\u200b")


def test_nasty_texts_keep_their_characters_and_are_escaped(tmp_path):
    found = heatcheck.explainer("gradient", family_subject("bert")).attribute(NASTY)
    for row in found.to_frame().itertuples():
        assert row.token == NASTY[row.start : row.end]
    shown = found._repr_html_()
    assert "<b>film" not in shown
    assert "&lt;" in shown
    assert "\x00" not in shown + repr(found)
    assert "\u202e" not in shown
    page = found.to_html(tmp_path / "deep" / "page.html").read_text()
    assert "<b>film" not in page
    assert "<script" not in page


def test_results_are_plain_values():
    found = heatcheck.explainer("gradient", family_subject("bert")).attribute(["good", "film"])
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    assert [one.text for one in found] == ["good", "film"]
    assert repr(found).startswith("Attributions of 2:\n  'good': gradient for ")


def test_importing_heatcheck_does_not_import_torch():
    code = "import heatcheck.report.heatmap, heatcheck.report.said, heatcheck, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def install(tmp_path, monkeypatch):
    """A package with entry points, as pip would leave it on the Python path."""
    monkeypatch.syspath_prepend(tmp_path)

    def call(entries: str, code: str, name: str = "other") -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[heatcheck.explainers]\n{entries}\n")
        (tmp_path / f"{name}_module.py").write_text(textwrap.dedent(code))
        plugins.found.cache_clear()

    yield call
    plugins.found.cache_clear()
    for module in [m for m in sys.modules if m.endswith("_module")]:
        del sys.modules[module]


LENGTHS = """
    import torch
    from dataclasses import dataclass
    from heatcheck.explain.method import Method
    from heatcheck.explain.types import Explanation
    from heatcheck.models.protocols import Predictor

    @dataclass(frozen=True)
    class Lengths:
        power: int = 1
        def __call__(self, model, batch, scalar, *, generator=None):
            length = (batch.offsets[..., 1] - batch.offsets[..., 0]) ** self.power
            return Explanation(torch.where(batch.words, length, 0).float(), signed=False)

    METHOD = Method(Lengths(), Predictor, about="long words")
    NUMBER = 7
"""


def test_methods_of_other_packages_are_found_by_name(install):
    install("word_lengths = other_module:METHOD", LENGTHS)
    assert plugins.plugin("word_lengths", EXPLAINERS).about == "long words"
    assert plugins.plugin("lime", EXPLAINERS) is None
    assert list(plugins.plugins(EXPLAINERS)) == ["word_lengths"]
    from heatcheck.testing import check_explainer

    check_explainer(plugins.plugin("word_lengths", EXPLAINERS), family_subject("bert"))


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ("lime = other_module:METHOD", "other adds an explanation method 'lime', which heatcheck has itself."),
        ("word-lengths = other_module:METHOD", "other: the method name 'word-lengths' is not a plain name"),
        ("mine = nowhere:METHOD", r"other: its explanation method 'mine' cannot be loaded \(ModuleNotFoundError"),
        ("mine = other_module:NOTHING", r"cannot be loaded \(AttributeError"),
        ("mine = other_module:NUMBER", r"'mine' \(other_module:NUMBER\) is a int, not a heatcheck"),
    ],
)  # fmt: skip
def test_a_package_that_does_it_wrong_is_named(install, entries, sentence):
    install(entries, LENGTHS)
    with pytest.raises(InputError, match=sentence):
        plugins.plugin("mine", EXPLAINERS)


def test_two_packages_with_one_name_are_both_named(install):
    install("mine = other_module:METHOD", LENGTHS)
    install("mine = another_module:METHOD", LENGTHS, name="another")
    with pytest.raises(InputError, match=r"another and other both add an explanation method 'mine'."):
        plugins.plugins(EXPLAINERS)
