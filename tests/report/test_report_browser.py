"""The page in a real browser: it runs without errors or network, reacts, and keeps hostile texts harmless."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from heatcheck import report, results
from heatcheck.report.heat import packed
from heatcheck.report.source import load

from .browser import CUT_LETTERS, CUT_TABLES, Opened, opened_in
from .sample import EMOJI, EVIL, NASTY, write_sample

sync_api = pytest.importorskip("playwright.sync_api")


@pytest.fixture(scope="module")
def report_file(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write(run_folder, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def shared(browser: sync_api.Browser, report_file: Path) -> Iterator[Opened]:
    """Opened once: what one test does to the page does not disturb the others."""
    with opened_in(browser, report_file) as opened:
        yield opened


@pytest.fixture
def opened(shared: Opened) -> Iterator[Opened]:
    yield shared
    shared.check()


def entry_of(opened: Opened, name: str) -> sync_api.Locator:
    """The text of this id, found by search and opened."""
    opened.page.fill("#texts input[type=search]", name)
    entry = opened.page.locator("#texts .browser > details")
    sync_api.expect(entry).to_have_count(1)
    sync_api.expect(entry).to_have_attribute("data-id", name)
    entry.locator("summary").click()
    return entry


def test_every_section_is_visible_and_drawn(opened: Opened) -> None:
    for name in (
        "verdict",
        "performance",
        "correlation",
        "permutation",
        "adversarial_attention",
        "texts",
        "provenance",
    ):
        assert opened.page.locator(f"#{name}").is_visible()
    for name in ("correlation", "permutation", "adversarial_attention"):
        assert opened.page.locator(f"#{name} svg.chart").count() >= 1
    assert opened.page.locator("[data-drawing=telling] article").count() == 8


def test_a_bar_lists_exactly_its_texts(opened: Opened) -> None:
    bar = opened.page.locator("#correlation .bar[data-panel='0'][data-bin='12']")
    count = int(bar.get_attribute("data-count") or 0)
    bar.click()
    while opened.page.locator("#correlation .behind > button").is_visible():
        opened.page.locator("#correlation .behind > button").click()
    cards = opened.page.locator("#correlation .behind article")
    assert cards.count() == count > 0
    assert cards.first.locator("[data-method=attention] .token").count() > 0
    assert cards.first.locator("[data-method=gradient] .token").count() > 0


def test_bars_work_by_keyboard(opened: Opened) -> None:
    opened.page.locator("#correlation .bar[tabindex='0']").first.focus()
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("Enter")
    assert opened.page.locator("#correlation .behind article").count() > 0


def test_every_bar_and_violin_lists_as_many_texts_as_it_counts(opened: Opened) -> None:
    different = opened.page.evaluate(
        """() => [...document.querySelectorAll('[data-count]:not([data-count="0"])')].filter((node) => {
            node.dispatchEvent(new Event('click'));
            const behind = node.closest('section').querySelector('.behind');
            const more = behind.querySelector(':scope > button');
            while (!more.hidden) more.click();
            return behind.querySelectorAll('article').length !== Number(node.dataset.count);
        }).length"""
    )
    assert different == 0


def test_choosing_another_tau_changes_chart_and_table(opened: Opened) -> None:
    before = opened.page.locator("#correlation tbody:visible").inner_text()
    opened.page.get_by_role("radio", name="gradients and leave-one-out").check()
    assert "gradients and leave-one-out" in (opened.page.locator("#correlation svg.chart").text_content() or "")
    assert opened.page.locator("#correlation tbody:visible").inner_text() != before


def test_the_distance_of_the_top_words_is_not_shown_as_a_tau(opened: Opened) -> None:
    opened.page.get_by_role("radio", name="top words (a distance)").check()
    chart, note = opened.page.locator("#correlation svg.chart"), opened.page.locator("#correlation .note.scale")
    assert opened.page.locator("#correlation tbody:visible").count() == 1
    assert "distance of the top words" in (chart.text_content() or "")
    assert "τ" not in (chart.text_content() or "") + (chart.get_attribute("aria-label") or "")
    assert chart.locator(".axis").last.locator("text").all_text_contents()[:5] == ["0", "0.25", "0.5", "0.75", "1"]
    assert note.inner_text() == "Distance of the top words: 0 the same order, 1 the reverse order."
    opened.page.locator("#correlation .bar[tabindex='0']").first.press("Enter")
    assert ", distance of the top words from 0" in opened.page.locator("#correlation .behind h3").inner_text()
    chip = opened.page.locator("#correlation .behind .chip.value").first.inner_text()
    assert re.fullmatch(r"distance of the top words, .* [\d.<]+ \(0 same order, 1 reversed\)", chip)
    opened.page.get_by_role("radio", name="all words (τ)").check()
    assert note.inner_text().startswith("Kendall τ: 1 the same order")


def test_the_distance_of_the_top_words_has_its_name_in_lists_and_numbers(opened: Opened) -> None:
    sort = opened.page.get_by_label("Sort by")
    assert "distance of the top words, attention–gradient" in sort.locator("option").all_text_contents()
    numbers = entry_of(opened, "emoji").locator(".text-numbers > div")
    sync_api.expect(numbers.first).to_be_visible()  # drawn when the entry opens
    rows = {row.locator("dt").inner_text(): row.locator("dd").inner_text() for row in numbers.all()}
    assert re.fullmatch(r"[\d.<]+", rows["distance of the top words, attention–LOO (0 same order, 1 reversed)"])
    assert "τ attention–LOO" in rows


def test_a_mark_of_the_scatter_plot_lists_its_text(opened: Opened) -> None:
    mark = opened.page.locator("#adversarial_attention svg.chart .point").first
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    assert box is not None
    opened.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert opened.page.locator("#adversarial_attention .behind article").count() > 0


def test_search_filters_and_sorting(opened: Opened) -> None:
    status = opened.page.locator("#texts .status")
    opened.page.fill("#texts input[type=search]", "")
    sync_api.expect(status).to_have_text("310 texts of 310")
    opened.page.fill("#texts input[type=search]", "SUPERB")
    sync_api.expect(status).not_to_have_text("310 texts of 310")
    assert all("superb" in text.lower() for text in opened.page.locator("#texts .preview").all_inner_texts()[:3])
    opened.page.fill("#texts input[type=search]", "")
    sync_api.expect(status).to_have_text("310 texts of 310")
    opened.page.get_by_label("wrong predictions only").check()
    wrong = opened.page.locator("#texts .chip.wrong")
    sync_api.expect(status).to_have_text(re.compile("^[1-9][0-9] texts"))
    assert wrong.count() == opened.page.locator("#texts .browser > details").count()
    opened.page.get_by_label("wrong predictions only").uncheck()
    opened.page.get_by_label("Sort by").select_option("adversarial_jsd/exact@0.01")
    values = [float(text) for text in opened.page.locator("#texts .chip.value b").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    assert status.inner_text() == "310 texts of 310"


def test_a_text_that_attacks_is_only_shown(opened: Opened) -> None:
    entry = entry_of(opened, "evil")
    assert entry.locator("[data-method=attention] .heat").text_content() == EVIL
    assert opened.page.locator("img").count() == 0


def test_tokens_land_on_their_characters(opened: Opened) -> None:
    entry = entry_of(opened, "emoji")
    heatmap = entry.locator("[data-method=attention] .heat")
    assert heatmap.text_content() == EMOJI
    assert heatmap.locator(".token").all_text_contents() == EMOJI.split()


def test_odd_texts_keep_every_character(opened: Opened) -> None:
    for name in ("arabic", "hebrew", "chinese", "huge", "spaces", "separators"):
        entry = entry_of(opened, name)
        shown = NASTY[name].replace("\u202e", "‹U+202E›").replace("\u202c", "‹U+202C›")
        assert entry.locator("[data-method=attention] .heat").text_content() == shown


def test_control_characters_are_made_visible(opened: Opened) -> None:
    entry = entry_of(opened, "controls")
    assert entry.locator("[data-method=attention] .heat").text_content() == "a NUL ␀ and a bell ␇ in the text"


def test_the_missing_value_says_why(opened: Opened) -> None:
    entry = entry_of(opened, "single")
    assert "none: a single token has no ranking" in entry.locator(".text-numbers").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fits_a_narrow_screen(browser: sync_api.Browser, report_file: Path, scheme: str) -> None:
    with opened_in(browser, report_file, 360, 740, color_scheme=scheme) as opened:
        opened.page.locator("#correlation .bar[data-panel='0'][data-bin='12']").click()
        opened.page.get_by_role("radio", name="top words (a distance)").check()
        assert opened.page.evaluate(CUT_LETTERS) == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
        assert opened.page.evaluate(CUT_TABLES) == []


def test_on_a_narrow_screen_the_menu_wraps_and_a_command_breaks_between_words(
    browser: sync_api.Browser, report_file: Path
) -> None:
    with opened_in(browser, report_file, 380, 740) as opened:
        ends = opened.page.locator("nav a").evaluate_all("all => all.map((one) => one.getBoundingClientRect().right)")
        assert max(ends) <= 380
        opened.page.set_viewport_size({"width": 330, "height": 740})  # where the command's line would end in a word
        lines = opened.page.locator("code .word").evaluate_all("all => all.map((one) => one.getClientRects().length)")
        assert set(lines) == {1}
        assert opened.page.locator("dl code").inner_text().replace("\n", " ") == (
            "heatcheck audit --model bilstm-tanh --data movie-reviews"
        )


def test_no_line_runs_through_the_titles_of_violins(opened: Opened) -> None:
    crossed = opened.page.locator("#permutation svg.chart").evaluate(
        """(chart) => [...chart.querySelectorAll('.panel-title')].filter((title) => {
            const box = title.getBBox();
            return [...chart.querySelectorAll('line.grid')].some(({ x1, x2, y1, y2 }) =>
                x1.baseVal.value === x2.baseVal.value && x1.baseVal.value < box.x + box.width &&
                y1.baseVal.value < box.y + box.height && y2.baseVal.value > box.y);
        }).length"""
    )
    assert opened.page.locator("#permutation .panel-title").count() > 1
    assert crossed == 0


def test_words_stay_readable_on_the_strongest_colour(browser: sync_api.Browser, report_file: Path) -> None:
    """WCAG contrast of at least 4.5 between text and the full heat colour over the card, in both schemes."""
    for scheme in ("light", "dark"):
        with opened_in(browser, report_file, color_scheme=scheme) as opened:
            assert opened.page.evaluate(CONTRAST) >= 4.5


CONTRAST = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const strongest = (node) => node.style.getPropertyValue('--share') === '1.000';
  const token = [...document.querySelectorAll('.text .token')].find(strongest);
  const sheet = numbers(getComputedStyle(token.closest('.text')).backgroundColor);
  const over = numbers(getComputedStyle(token).backgroundColor);
  const share = over[3] ?? 1;
  const mixed = sheet.slice(0, 3).map((part, at) => over[at] * share + part * (1 - share));
  const [one, other] = [light(mixed), light(numbers(getComputedStyle(token).color))];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}"""


def test_pairs_and_signed_scores(browser: sync_api.Browser, tmp_path: Path) -> None:
    rows = [
        results.ExampleRow("a", "A 👩 sleeps.", "She 😀 is awake.", "no", "yes", 0.9, 2, 0.5),
        results.TokenScores("a", "lime", "no", [0, 1], [0, 1], [4, 9], [10, 14], ["sleeps", "awake"], [0.5, -0.25]),
    ]
    results.write_tables(tmp_path, results.tables(rows, results.Origin("data", "model", 0), "explain"))
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    with opened_in(browser, report.write(tmp_path)) as opened:
        opened.page.locator("#texts .browser summary").click()
        heat, tokens = (opened.page.locator(f"[data-method=lime] .{kind}") for kind in ("heat", "token"))
        assert heat.all_text_contents() == ["A 👩 sleeps.", "She 😀 is awake."]
        assert tokens.all_text_contents() == ["sleeps", "awake"]
        assert opened.page.locator("[data-method=lime] .token.negative").get_attribute("title") == "−0.25"
        assert opened.page.locator(".legend .negative").count() == 1
        assert "no sign" not in opened.page.locator(".legend").first.inner_text()


def test_the_strongest_words_are_quoted_and_small_scores_have_digits(browser: sync_api.Browser, tmp_path: Path) -> None:
    scores = [0.00016, -0.00012, 0.0]
    rows = [
        results.ExampleRow("a", "dull , .", None, "no", "yes", 0.9, 3, 0.5),
        results.TokenScores("a", "lime", "no", [0, 0, 0], [0, 1, 2], [0, 5, 7], [4, 6, 8], ["dull", ",", "."], scores),
        results.TokenScores("a", "rollout", "no", [0], [0], [0], [4], ["dull"], [0.0]),
    ]
    results.write_tables(tmp_path, results.tables(rows, results.Origin("data", "model", 0), "explain"))
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    with opened_in(browser, report.write(tmp_path)) as opened:
        opened.page.locator("#texts .browser summary").click()
        said = [opened.page.locator(f"[data-method={one}] .strongest").text_content() for one in ("lime", "rollout")]
    assert said == ["strongest: “dull” 0.00016, “,” −0.00012", "no word has a score other than 0"]


def test_many_words_of_little_weight_are_no_marks(tmp_path: Path) -> None:
    """In the page each is rounded; what is left for marks is not counted from those."""
    weights = [0.92, *[0.0002] * 400]
    starts = list(range(0, 2 * len(weights), 2))
    about = ([0] * len(weights), list(range(len(weights))), starts, [at + 1 for at in starts], ["x"] * len(weights))
    rows = [
        results.ExampleRow("a", "x " * len(weights), None, "no", "yes", 0.9, len(weights), 0.5),
        results.TokenScores("a", "attefa_adversary", "no", *about, weights),
    ]
    results.write_tables(tmp_path, results.tables(rows, results.Origin("data", "model", 0), "explain"))
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    assert len(packed(load(tmp_path), ["a"])["a"]["methods"]["attefa_adversary"]) == 2  # nothing on marks


@pytest.mark.parametrize("windows", [False, True])
def test_an_adversary_that_looks_at_marks_alone_does_not_glow(
    browser: sync_api.Browser, tmp_path: Path, windows: bool
) -> None:
    about = ([0, 0], [0, 1], [0, 5], [4, 9], ["dull", "film"])
    rows = [
        results.ExampleRow("a", "dull film", None, "no", "yes", 0.9, 2, 0.5),
        results.TokenScores("a", "attention", "no", *about, [0.6, 0.4]),
        results.TokenScores("a", "attefa_adversary", "no", *about, [0.0001, 0.0004]),
    ]
    results.write_tables(tmp_path, results.tables(rows, results.Origin("data", "model", 0), "explain"))
    results.write_json(tmp_path / "run.json", {"schema_version": 1, "model": {"windows": windows}})
    with opened_in(browser, report.write(tmp_path)) as opened:
        opened.page.locator("#texts .browser summary").click()
        said, shares = {}, {}
        for method in ("attention", "attefa_adversary"):
            there = opened.page.locator(f"[data-method={method}]")
            said[method] = there.locator(".strongest").text_content()
            shares[method] = there.locator(".token").last.evaluate("node => +node.style.getPropertyValue('--share')")
    assert said["attention"] == "strongest: “dull” 0.60, “film” 0.40"
    beside = "" if windows else " · on marks like [CLS], which are not shown: 100%"
    assert said["attefa_adversary"] == f"strongest: “film” 0.00040, “dull” 0.00010{beside}"
    assert shares["attention"] == pytest.approx(0.667, abs=1e-3)
    assert shares["attefa_adversary"] == (1 if windows else 0)  # in windows what adds up to more than 1 tells nothing


@pytest.mark.parametrize("experiment", ["performance", "correlation", "permutation", "adversarial_attention"])
def test_a_run_of_one_experiment_opens_without_errors(
    browser: sync_api.Browser, tmp_path: Path, experiment: str
) -> None:
    path = report.write(write_sample(tmp_path, experiments=[experiment], how_many=15, classes=["a", "b", "c"]))
    with opened_in(browser, path) as opened:
        assert opened.page.locator("#texts .browser > details").count() > 0


# Where each of some words of an element stands: the left edge of its first letter.
PLACES = """(node, words) => words.map((word) => {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const at = text.data.indexOf(word);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect().left;
  }
  return null;
})"""


def test_no_mark_of_direction_in_the_data_turns_the_page_around(browser: sync_api.Browser, tmp_path: Path) -> None:
    classes = ["neg\u202eative", "טוב מאוד", "pos\u200f"]
    shown = ["neg‹U+202E›ative", "\u2068טוב מאוד\u2069", "pos‹U+200F›"]
    folder = write_sample(tmp_path, ["correlation"], how_many=40, classes=classes, nasty=False)
    rows = [
        results.ExampleRow(f"id\u202e{i}", "one \u202etwo three", None, c, c, 0.93, 2, 3) for i, c in enumerate(classes)
    ]
    rows += [results.TokenScores(rows[0].example_id, "attention", "x", [0], [0], [4], [8], ["\u202etwo"], [1.0])]
    made = results.tables(rows, results.Origin("data", "model", 0), "explain")
    there = {name: results.read_table(folder, name) for name in made}
    results.write_tables(folder, {name: pa.concat_tables([made[name], there[name]]) for name in made})
    with opened_in(browser, report.write(folder)) as opened:
        sync_api.expect(opened.page.locator("#texts .browser > details").first).to_be_visible()
        for number, name in enumerate(shown):
            entry = opened.page.locator("#texts .browser > details").nth(number)
            chip = entry.locator(".chip").first
            assert chip.inner_text() == f"predicted {name} (0.93)"
            start, inside, behind = chip.evaluate(PLACES, ["predicted", name.strip("\u2068")[:3], "(0.93"])
            assert start < inside < behind
            assert entry.locator(".chip.id").inner_text() == f"id‹U+202E›{number}"
            bar = opened.page.locator("#correlation .panel-title").nth(number)
            assert bar.text_content().startswith(name)
        opened.page.locator("#texts .browser summary").first.click()
        heat = opened.page.locator("#texts [data-method=attention] .heat").first
        assert heat.text_content() == "one ‹U+202E›two three"
        assert heat.locator(".token").text_content() == "‹U+202E›two"
        places = heat.evaluate(PLACES, ["one", "two", "three"])
        assert places == sorted(places)
        turning = opened.page.evaluate("document.body.innerText.match(/[\\u202a-\\u202e\\u2066\\u2067]/g)")
        assert turning is None
        assert "neg‹U+202E›ative" in opened.page.locator("#performance").inner_text()
