"""Heatmaps of single texts: words from tokens, the page in a real browser, the terminal as a person sees it."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.color import ColorSystem
from rich.console import Console

from heatcheck import terminal
from heatcheck.errors import InputError
from heatcheck.report import heatmap
from heatcheck.report.said import Said, said
from heatcheck.report.scored import Heatmap, Part, Token
from heatcheck.results import read_run, read_table, write_json

from .browser import opened_in
from .sample import EMOJI, EVIL, NASTY, spans, write_sample
from .sample_methods import write_methods_sample

LABELS = ("<script>document.title='hacked'</script>", 'pos"it\u202eive\x00', "\x1b[2J😀")


SAID = Said({"gradient": "agrees"}, ("τ is 1 where",))
OURS = {
    "html", "head", "meta", "link", "title", "style", "body", "main", "article", "section", "div", "span", "b", "bdi",
    "p", "ul", "li", "footer",
}  # fmt: skip


def heat(text: str = "a good, good film", scores: tuple[float, ...] = (), **changes: object) -> Heatmap:
    """Words at white space, with these scores, then 0."""
    words = spans(text)
    numbers = [*scores, *([0.0] * len(words))]
    tokens = tuple(Token(0, i, s, e, text[s:e], numbers[i]) for i, (s, e) in enumerate(words))
    base = Heatmap(text, None, "tiny", "gradient", "positive", 0.93, "positive", 0.93, False, tokens)
    return replace(base, **changes)


def pieces(text: str, *cut: tuple[int, int, int, float]) -> Heatmap:
    """(word, start, end, score) for each token."""
    return replace(heat(text), tokens=tuple(Token(0, w, s, e, text[s:e], score) for w, s, e, score in cut))


def words(one: Heatmap) -> list[tuple[str, float]]:
    return [(word.token, word.score) for word in one.words]


def test_pieces_of_a_word_are_one_word_and_add_up():
    assert words(pieces("unfunny film", (0, 0, 2, 1.0), (0, 2, 7, -3.0), (1, 8, 12, 0.5))) == [
        ("unfunny", -2.0),
        ("film", 0.5),
    ]


@pytest.mark.parametrize("text", [*NASTY.values(), EMOJI])
def test_the_parts_are_the_text(text):
    one = heat(text, (0.5, -1.0))
    assert "".join(part.text for part in one.parts(0)) == text
    assert [part.text for part in one.parts(0) if part.share is not None] == text.split()


def test_marks_stand_where_the_model_reads_them():
    one = heat("good")
    marked = replace(
        one,
        pair="film",
        tokens=(
            Token(0, None, 0, 0, "[CLS]", 2.0),
            Token(0, 0, 0, 4, "good", -1.0),
            Token(0, None, 0, 0, "[SEP]", 0.0),
            Token(1, 0, 0, 4, "film", 1.0),
            Token(1, None, 0, 0, "[SEP]", 0.0),
        ),
    )
    assert [(part.text, part.share) for part in marked.parts(0) if part.text] == [
        ("[CLS]", 1.0),
        ("good", -0.5),
        ("[SEP]", 0.0),
    ]
    assert [part for part in marked.parts(1) if part.text] == [Part("film", 0.5), Part("[SEP]", 0.0, mark=True)]


class Reading(HTMLParser):
    """All text, and all elements with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_says_what_was_found_and_loads_nothing():
    one = heat(scores=(0.1, -0.4, 0.0, 0.4), signed=True, delta=0.31, notes=("not ranked: a reason",))
    read = Reading(heatmap.page([one, replace(one, method="lime(samples=9)", delta=None)], SAID))
    for sentence in (
        "predicted positive (93%)",
        "misses the sum it promises by 31%",
        "not ranked: a reason",
        "LIME (samples=9)",
        "audit: agrees",
        "audit: τ is 1 where",
        "strongest: “good,” −0.40, “film” 0.40, “a” 0.10",
        "against the class",
    ):
        assert sentence in read.text, sentence
    assert not {"script", "img", "iframe", "form"} & {tag for tag, _ in read.elements}
    assert all(not (attributes.keys() & {"style", "src", "onclick"}) for _, attributes in read.elements)
    (policy,) = [a["content"] for _, a in read.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    tokens = [a for tag, a in read.elements if tag == "span" and str(a.get("class")).startswith("token")]
    assert {"class": "token share-40 negative", "title": "−0.40"} in tokens


def test_another_class_than_the_predicted_is_said():
    page = Reading(heatmap.page([heat(target="negative", target_probability=0.07)]))
    assert "predicted positive (93%); explained: negative (7%)" in page.text


@pytest.mark.parametrize("text", [*NASTY.values(), *LABELS])
def test_whatever_a_text_holds_the_page_shows_it_as_text(text):
    one = heat(text, (1.0,), model=text, predicted=text, target=text, notes=(text,), method="gradient")
    for page in (heatmap.page([one]), heatmap.fragment([one])):
        read = Reading(page)
        assert {tag for tag, _ in read.elements} <= OURS
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e]", page)
        shown = text.translate({0: "␀", 7: "␇", 27: "␛"})
        shown = re.sub("[\u202a-\u202e]", lambda found: f"‹U+{ord(found[0]):04X}›", shown)
        assert shown in read.text


def test_a_page_that_cannot_be_written_is_a_sentence(tmp_path: Path):
    (tmp_path / "page").mkdir()
    with pytest.raises(InputError, match=r"page: the heatmap cannot be written \(.*directory.*\). Give another --out."):
        heatmap.write(tmp_path / "page", [heat()])
    assert [p.name for p in tmp_path.iterdir()] == ["page"]


def test_what_an_audit_says_in_a_line(tmp_path: Path):
    write_methods_sample(tmp_path)
    found = said(tmp_path, ["gradient", "occlusion", "deep_lift_captum", "random"])
    lines = found.lines
    number = r"−?\d\.\d+"
    agreement, erasure = lines["gradient"].split("; ")
    assert re.fullmatch(f"mean τ with 13 other methods: {number}", agreement)
    each = [rf"{number} \({way}, random words: 0\.3\d\)" for way in ("delete", "mask")]
    assert re.fullmatch(rf"comprehensiveness {each[0]}, {each[1]}", erasure)
    assert lines["deep_lift_captum"].endswith("; not ranked: misses the sum it promises by 45% (median)")
    tested = "attention, attention_x_gradient, deep_lift, deep_lift_captum (not ranked), flow,"
    assert list(lines) == ["gradient", "deep_lift_captum"]
    assert found.below[0].startswith(f"not tested there: occlusion, random; tested: {tested}")
    assert [line.split(" is ")[0] for line in found.below[1:]] == ["τ", "comprehensiveness"]
    assert said(tmp_path, ["gradient"]).below == found.below[1:]


def test_a_method_that_was_tested_alone_and_not_ranked_was_tested(tmp_path: Path):
    write_sample(tmp_path, how_many=4)
    flaw = {"subject": "deep_lift_captum", "reference": None, "reason": "not ranked: shown as published, with its flaw"}
    scores = read_table(tmp_path, "scores")
    row = next(row for row in scores.to_pylist() if row["example_id"] is None and row["statistic"] == "mean") | flaw
    added = scores.from_pylist([row], schema=scores.schema)
    pq.write_table(pa.concat_tables([scores, added]), tmp_path / "scores.parquet")
    below = "not tested there: occlusion; tested: attention, deep_lift_captum (not ranked)"
    assert said(tmp_path, ["occlusion"]) == Said({}, (below,))


def test_an_audits_verdict_on_a_method_comes_first_what_failed_before_the_rest(tmp_path: Path):
    """`sample` has findings on attention, which older runs do not name; another one is made of each kind."""
    run = write_sample(tmp_path, how_many=4)
    about = read_run(run)
    added = [
        {"experiment": "erasure", "subject": subject, "outcome": outcome, "question": f"Is {subject} good?"}
        for subject, outcome in (("gradient", "passes"), ("lime(samples=9)", "fails"), ("all methods", "fails"))
    ]
    findings = [*(f for f in about["verdict"]["findings"] if f["experiment"] != "performance"), *added]
    write_json(run / "run.json", about | {"verdict": {"headline": "", "findings": findings}})
    found = said(run, ["attention", "gradient", "lime(samples=9)", "occlusion"])
    lines = found.lines
    assert lines["attention"] == (
        "fails: “Does attention agree with gradients?”, “Could another heatmap explain the same output?”; "
        "cannot tell: “Does shuffling attention change the output?”"
    )
    assert lines["gradient"] == "passes: “Is gradient good?”"
    assert lines["lime(samples=9)"] == "fails: “Is lime(samples=9) good?”"
    assert found.below == ("not tested there: occlusion; tested: attention, gradient, lime(samples=9)",)


def printed(*heatmaps: Heatmap, **settings: object) -> str:
    file = io.StringIO()
    console = Console(file=file, width=60, **{"legacy_windows": False, "_environ": {}, **settings})
    terminal.show(console, heatmaps, SAID)
    return file.getvalue()


COLOURS = {"force_terminal": True, "color_system": "truecolor"}


def test_without_colours_scores_are_numbers():
    one = heat(scores=(0.001, -0.4, 0.2), signed=True, delta=0.002, notes=("not ranked: a reason",))
    expected = """tiny: positive, probability 93%

Gradient
  a good, (−0.40) good (0.20) film
  misses the sum it promises by 0.2%
  not ranked: a reason
  audit: agrees

(number): score of the word; below 0: speaks against the class. No number: below 5% of the largest.
audit: τ is 1 where"""
    for settings in ({}, {**COLOURS, "no_color": True}, {"force_terminal": True, "color_system": None}):
        found = re.sub(r"\x1b\[[\d;]*m", "", printed(one, **settings))
        assert re.sub(r" +\n", "\n", found).startswith(expected), settings
    assert "\x1b" not in printed(one)


def test_with_colours_words_have_backgrounds():
    found = printed(heat(scores=(0.02, -0.4, 0.1, 0.4), signed=True), **COLOURS)
    assert re.search(r"  a \x1b\[1;38;2;0;0;0;48;2;84;160;255mgood,\x1b\[0m \x1b\[38;2;215;95;95mgood\x1b\[0m", found)
    assert re.search(r"48;2;255;84;84mfilm\x1b\[0m", found)
    assert "against the class" in found
    unsigned = printed(heat(scores=(0.4,)), **COLOURS)
    assert "84;160;255" not in unsigned
    assert "against the class" not in unsigned


def test_beside_methods_with_signs_those_without_are_named():
    lime, weights = heat(method="lime", signed=True), heat(method="attention")
    said = "no sign, so for or against: Attention and Gradient"
    assert said in " ".join(printed(lime, weights, heat()).split())
    assert said in " ".join(printed(lime, weights, heat(), **COLOURS).split())
    assert said in heatmap.page([lime, weights, heat()])
    for alone in ([lime], [weights, heat()]):
        assert "no sign" not in printed(*alone)
        assert "no sign" not in heatmap.page(alone)


def test_letters_can_be_read_on_their_backgrounds():
    """WCAG's contrast of 4.5, of black on every step of the scale; 3 of coloured letters on white and on black."""

    def light(red: int, green: int, blue: int) -> float:
        linear = [x / 3294.6 if x <= 10 else ((x / 255 + 0.055) / 1.055) ** 2.4 for x in (red, green, blue)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

    for step in range(-100, 101):
        style = terminal.look_in_many(step / 100)
        if style.bgcolor is not None:
            assert light(*style.bgcolor.get_truecolor()) / light(0, 0, 0) >= 4.5
        elif step:
            letters = light(*style.color.get_truecolor())
            assert letters / light(0, 0, 0) >= 3
            assert light(255, 255, 255) / letters >= 3


@pytest.mark.parametrize(("system", "number"), [("standard", ColorSystem.STANDARD), ("256", ColorSystem.EIGHT_BIT)])
def test_fewer_colours_keep_the_sign(system, number):
    """Whatever the terminal makes of a step for the class, it is never what it makes of one against it, nor a grey."""
    look = terminal.look_in(Console(force_terminal=True, color_system=system, _environ={}))

    def seen(share: float) -> tuple[int, int, int]:
        style = look(share)
        return (style.bgcolor or style.color).downgrade(number).get_truecolor()

    for step in range(1, 101):
        red, _, blue = seen(step / 100)
        assert red > blue, step
        red, _, blue = seen(-step / 100)
        assert red < blue, -step
    found = printed(heat(scores=(0.4, -0.15), signed=True), force_terminal=True, color_system="standard")
    assert "\x1b[4;30;101ma\x1b[0m \x1b[30;104mgood,\x1b[0m" in found
    assert "little \x1b[91m word \x1b[0m\x1b[30;101m word \x1b[0m\x1b[4;30;101m word \x1b[0m most" in found


@pytest.mark.parametrize("settings", [{}, COLOURS])
@pytest.mark.parametrize("text", [*NASTY.values(), *LABELS, "c1 \x9b31m \x85 \udc80 [red]not markup[/red] \r over"])
def test_no_control_character_reaches_the_terminal(text, settings):
    one = heat(text, (1.0,), model=text, predicted=text, target="other " + text, notes=(text,), method=text)
    found = re.sub(r"\x1b\[[\d;]+m", "", printed(one, **settings))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", found)
    if "markup" in text:
        assert "[red]not markup[/red]" in found


def test_in_a_browser_texts_stay_texts_and_colours_are_there(browser: Any, tmp_path: Path):
    shown = [heat(text, (1.0, -0.5), predicted=EVIL, model=EVIL, signed=True) for text in NASTY.values()]
    path = heatmap.write(tmp_path / "page.html", shown)
    with opened_in(browser, path, 380, 800, color_scheme="light") as opened:
        assert opened.page.title() == "heatcheck: " + EVIL
        assert opened.page.locator("script, img").count() == 0
        tokens = opened.page.locator("article").nth(list(NASTY).index("emoji")).locator(".token")
        assert tokens.all_text_contents() == EMOJI.split()
        colours = [tokens.nth(i).evaluate("e => getComputedStyle(e).backgroundColor") for i in range(3)]
        assert colours == ["rgba(222, 46, 64, 0.78)", "rgba(38, 110, 200, 0.3)", "rgba(222, 46, 64, 0)"]
        wide = opened.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 380
        first, second = (opened.page.locator("article").nth(i).bounding_box() for i in range(2))
        assert second["y"] - first["y"] - first["height"] > 8
