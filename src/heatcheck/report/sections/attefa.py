"""AtteFa: how far is attention tied to the output? (Amini & Kosseim 2022, Figure 1, Table 3)"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from heatcheck.report.figures import plain
from heatcheck.report.lies import lies, lies_part
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.methods import cell, folded
from heatcheck.report.plane import BASE, kinds, liar_name, liars
from heatcheck.report.section import Section, drawing, lead
from heatcheck.report.series import Series
from heatcheck.report.source import Row, Run, Variant
from heatcheck.report.trained import Which, means, models_table, of_texts, variants_table
from heatcheck.results import ALL_SEEDS
from heatcheck.verdict.findings import LN2

# Variant -> (name, what it says)
VARIANTS = {
    "published": (
        "as published",
        "As published: mean TVD divided by mean JSD / ln 2, at most 1. In the paper LSTMs have 0.01 to 0.12 on real "
        "texts, token-wise networks 0.19 to 0.44; an adversary that has learned nothing reaches about 0.5 where "
        "outputs are sure.",
    ),
    "relative": (
        "relative to no reading",
        "Relative: TVD is first divided by that of the best model which always gives the same output. A model that is "
        "unsure can be imitated by anybody; here 1 means no closer than one who has read nothing.",
    ),
    "right": (
        "where the model is right",
        "Right: as published, over the texts that the model itself gets right, so that its mistakes do not count.",
    ),
}
TOLD_BY = ("encoder", "attention", "weighting", "temperature", "heads", "hidden", "embedding_width", "pairing")
SOURCES = {"adversary seed": "adversaries", "base seed": "models"}  # of variance
BOTH_SOURCES = (
    "Std over adversaries: of one model. Std over models: what is left when the chance of their adversaries is taken "
    "off; 0 means that the models differ no more than that."
)
DISTANCES = "JSD is how far attention moved, of at most 0.69; TVD is how far the output moved, of at most 1."
WHICH = "The verdict is about the best adversary, by dev texts; this is the mean over all of them."


def section(run: Run) -> Section | None:
    rows = means(run, "attefa")
    found = [name for name in VARIANTS if any(which.setting == name for which in rows)]
    if not found:
        return None
    own = _series(run)
    shown = lies(run, own[0].values, own[1].values, ("attention", "attefa_adversary")) if own else None
    points = list(liars(run, all_bases=True))
    body = join(
        lead(
            "Adversaries, twins of this model, are trained once, without a λ, to give the same outputs from other "
            "words. AtteFa sets the change of their output against the distance of their attention: 0 means that "
            "attention moves freely, 1 that it cannot move without the output. ",
            tag("cite", "Amini & Kosseim 2022, section 3.3, Figure 1, Table 3"),
        ),
        drawing("attefa"),
        _spread(run, found),
        _beside(run, found),
        folded("All adversaries", join(_table(run, rows, found), tag("p", DISTANCES, class_="caption"))),
        lies_part(shown, "attefa-lies", "AtteFa’s first adversary"),
    )
    chart = {
        "variants": [_chart(run, name) for name in found],
        "marks": points,
        "kinds": kinds(points),
        "bound": round(LN2, 4),
        "lies": shown,
    }
    return Section(
        "attefa",
        "AtteFa",
        "AtteFa: how far is attention tied to the output?",
        body,
        chart,
        "section_attefa.js",
        tuple(text["id"] for text in shown["texts"]) if shown else (),
        own,
    )


def _chart(run: Run, variant: str) -> dict[str, Any]:
    """This run's adversaries, and behind them those of further runs: by model and data, as in Figure 1."""
    name, meaning = VARIANTS[variant]
    titles = names([run, *run.beside]) if run.beside else ["mean"]
    runs = zip((run, *run.beside), titles, strict=True)
    rows = [row for one, title in runs for row in _dots(one, variant, title, several=bool(run.beside))]
    return {"key": variant, "name": name, "meaning": meaning, "rows": rows}


def names(runs: Sequence[Run]) -> list[str]:
    """By model and data; where that is the same, by what differs in how the models are built, or by their number."""
    models = [run.part("model") for run in runs]
    found = []
    for place, run in enumerate(runs):
        alike = [i for i, other in enumerate(runs) if other.name == run.name]
        differs = [key for key in TOLD_BY if len({plain(models[i].get(key)) for i in alike}) > 1]
        told = [f"{key} {plain(models[place].get(key))}" for key in differs] or [f"number {alike.index(place) + 1}"]
        found.append(f"{', '.join(told)}: {run.name}" if len(alike) > 1 else run.name)
    return found


def _dots(run: Run, variant: str, title: str, *, several: bool) -> Iterator[dict[str, Any]]:
    """The mean, named `title`, and below it each adversary."""
    chosen = {which: row for which, row in means(run, "attefa").items() if which.setting == variant}
    for which in sorted(chosen, key=lambda w: w.reference != ALL_SEEDS):  # else as the run gave them
        part = which.reference != ALL_SEEDS
        name = liar_name(which) if part else title
        if part and several:  # one of several models
            name = name.replace("this model", "adversary")
        yield {"id": f"{title}: {name}", "name": name, "why": None, "cell": cell(chosen[which]), "part": part}


def _overall(run: Run) -> dict[str | None, Row]:
    """The mean over all adversaries, by definition."""
    return {which.setting: row for which, row in means(run, "attefa").items() if which.reference == ALL_SEEDS}


def _spread(run: Run, found: list[str]) -> Markup | None:
    """The mean by each definition, and where its variance comes from."""
    rows = _overall(run)
    spread = {
        (row["setting"], row["reference"]): row
        for row in run.aggregates
        if row["measure"] == "attefa" and row["statistic"] == "std"
    }
    sources = [name for name in SOURCES if any(key[1] == name for key in spread)]
    lines = [(VARIANTS[name][0], [rows.get(name), *(spread.get((name, s)) for s in sources)]) for name in found]
    table = models_table(("AtteFa", "mean", *(f"std over {SOURCES[source]}" for source in sources)), lines)
    several = sum(which.setting == found[0] for which in means(run, "attefa")) > 2  # with their mean
    said = [*([WHICH] if several else []), *([BOTH_SOURCES] if len(sources) > 1 else [])]
    return join(table, tag("p", " ".join(said), class_="caption") if said else None)


def _beside(run: Run, found: list[str]) -> Markup | None:
    """The means of all runs, by each definition."""
    lines = []
    runs = [run, *run.beside]
    for one, title in zip(runs, names(runs), strict=True) if run.beside else ():
        lines.append((title, [_overall(one).get(name) for name in found]))
    return models_table(("AtteFa, mean", *(VARIANTS[name][0] for name in found)), lines)


def _table(run: Run, rows: dict[Which, Row], found: list[str]) -> Markup | None:
    """A body for each definition: the same adversaries, in the order of the run."""
    jsds, tvds = (means(run, f"attefa_{name}") for name in ("jsd", "tvd"))
    f1 = {which.subject: row for which, row in means(run, "attefa_f1").items()}

    def line(which: Which) -> tuple[str, list[Row | None]]:
        plain = Which(which.subject, which.reference)
        adversary = f1.get(f"adversary of {which.subject}, {which.reference}")
        return liar_name(which), [rows[which], jsds.get(plain), tvds.get(plain), adversary]

    return variants_table(
        ("model · adversary’s seed", "AtteFa", "JSD", "TVD", "F1"),
        [
            (name, VARIANTS[name][0], [line(w) for w in rows if w.setting == name and w.reference != ALL_SEEDS])
            for name in found
        ],
    )


def _series(run: Run) -> tuple[Series, ...]:
    """Of the first adversary of this model, whose heatmaps are in the run."""
    first = next((which for which in of_texts(run, "attefa_jsd") if which.subject == BASE), None)
    if first is None:
        return ()
    return tuple(
        Series(Variant(measure, f"adversary’s {first.reference}"), of_texts(run, measure).get(first, {}), {})
        for measure in ("attefa_jsd", "attefa_tvd")
    )
