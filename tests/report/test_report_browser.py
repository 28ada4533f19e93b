"""The page in a real browser: it runs without errors or network, reacts, and keeps hostile texts harmless."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from heatcheck import report, results

from .sample import EMOJI, EVIL, NASTY, write_sample

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Opened:
    """A page with everything it complained about and everything it tried to load."""

    def __init__(self, context: sync_api.BrowserContext, path: Path) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def report_file(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write(run_folder, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def shared(browser: sync_api.Browser, report_file: Path) -> Iterator[Opened]:
    """Opened once: what one test does to the page does not disturb the others."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield Opened(context, report_file)
    context.close()


@pytest.fixture
def opened(shared: Opened, report_file: Path) -> Iterator[Opened]:
    yield shared
    assert shared.complaints == []
    assert shared.requests == [report_file.as_uri()]
    assert "hacked" not in shared.page.title()


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
    opened.page.get_by_role("radio", name="top 5 words").check()
    assert opened.page.locator("#correlation tbody:visible").count() == 1


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
        assert entry.locator("[data-method=attention] .heat").text_content() == NASTY[name]


def test_control_characters_are_made_visible(opened: Opened) -> None:
    entry = entry_of(opened, "controls")
    assert entry.locator("[data-method=attention] .heat").text_content() == "a NUL ␀ and a bell ␇ in the text"


def test_the_missing_value_says_why(opened: Opened) -> None:
    entry = entry_of(opened, "single")
    assert "none: a single token has no ranking" in entry.locator(".text-numbers").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fits_a_narrow_screen(browser: sync_api.Browser, report_file: Path, scheme: str) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    opened = Opened(context, report_file)
    opened.page.locator("#correlation .bar[data-panel='0'][data-bin='12']").click()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    cut = "[...document.querySelectorAll('.numbers')].filter((node) => node.offsetWidth > node.parentNode.clientWidth)"
    assert opened.page.evaluate(f"{cut}.length") == 0
    assert opened.complaints == []
    context.close()


def test_words_stay_readable_on_the_strongest_colour(browser: sync_api.Browser, report_file: Path) -> None:
    """WCAG contrast of at least 4.5 between text and the full heat colour over the card, in both schemes."""
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        opened = Opened(context, report_file)
        assert opened.page.evaluate(CONTRAST) >= 4.5
        context.close()


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
    context = browser.new_context()
    opened = Opened(context, report.write(tmp_path))
    opened.page.locator("#texts .browser summary").click()
    assert opened.page.locator("[data-method=lime] .heat").all_text_contents() == ["A 👩 sleeps.", "She 😀 is awake."]
    assert opened.page.locator("[data-method=lime] .token").all_text_contents() == ["sleeps", "awake"]
    assert opened.page.locator("[data-method=lime] .token.negative").get_attribute("title") == "−0.25"
    assert opened.page.locator(".legend .negative").count() == 1
    assert opened.complaints == []
    context.close()


@pytest.mark.parametrize("experiment", ["performance", "correlation", "permutation", "adversarial_attention"])
def test_a_run_of_one_experiment_opens_without_errors(
    browser: sync_api.Browser, tmp_path: Path, experiment: str
) -> None:
    context = browser.new_context()
    path = report.write(write_sample(tmp_path, experiments=[experiment], how_many=15, classes=["a", "b", "c"]))
    opened = Opened(context, path)
    assert opened.page.locator("#texts .browser > details").count() > 0
    assert opened.complaints == []
    context.close()
