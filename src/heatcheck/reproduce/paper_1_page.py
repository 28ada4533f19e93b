"""docs/reproduction/paper-1.md: tables from the run folders that are there, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy import ndarray
from scipy.stats import rankdata

from heatcheck.measure.intervals import Interval, bootstrap, resampled
from heatcheck.reproduce.page import (
    BIN_HEADS,
    Finished,
    between,
    heading,
    joined,
    medians_by_attention,
    number,
    read_finished,
)
from heatcheck.reproduce.paper_1_numbers import TABLE_1, TABLE_2, Correlation

DATASETS = ("sst", "imdb-paper", "agnews", "babi-1", "babi-2", "babi-3", "snli")
TITLES = {"sst": "SST", "imdb-paper": "IMDB", "agnews": "AG News ¹", "babi-3": "bAbI 3 ¹", "snli": "SNLI ¹"}
ENCODERS = ("bilstm", "average", "cnn")
PART = "¹ Only a part of the paper's training set is here: the row is not comparable."


def page(out: Path) -> dict[str, str]:
    """The blocks of the page by name."""
    names = [f"{d}-{e}-{a}" for d in DATASETS for e in ENCODERS for a in ("additive", "dot")]
    cases = {name: case for name in names if (case := read_finished(out / name)) is not None}
    blocks: dict[str, Callable[[], Iterator[str]]] = {
        "table-1": lambda: table_1(cases),
        "table-2": lambda: table_2(cases),
        "figure-3": lambda: figure_3(cases),
        "figures-4-5": lambda: figures_4_5(cases, out),
        "figures-6-8": lambda: figures_6_8(cases),
    }
    return joined(blocks)


def title(name: str) -> str:
    dataset, encoder, attention = name.rsplit("-", 2)
    return f"{TITLES.get(dataset, dataset.replace('babi-', 'bAbI '))} | {encoder}, {attention}"


def table_1(cases: dict[str, Finished]) -> Iterator[str]:
    yield "| data | model | texts | measure | paper (BiLSTM) | ours |"
    yield "|---|---|---|---|---|---|"
    for name, case in cases.items():
        dataset = name.rsplit("-", 2)[0]
        measure = {"single": "F1", "pair": "micro-F1", "qa": "accuracy"}[case.task]
        theirs = f"{TABLE_1[dataset]:.2f}" if "-bilstm-additive" in name else ""
        ours = case.aggregate("accuracy" if case.task == "qa" else "f1")
        yield f"| {title(name)} | {len(case.examples):,} | {measure} | {theirs} | {ours} |"
    yield ""
    yield PART


def table_2(cases: dict[str, Finished]) -> Iterator[str]:
    yield "| data | model | class | τ_g paper | ours | sig. paper | ours | τ_loo paper | ours | sig. paper | ours |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for name, case in cases.items():
        dataset, encoder, attention = name.rsplit("-", 2)
        for index, group in enumerate(case.groups):
            theirs = TABLE_2.get((dataset, index)) if attention == "additive" else None
            gradient = theirs and {"bilstm": theirs.gradient, "average": theirs.gradient_average}.get(encoder)
            loo = theirs.loo if theirs and encoder == "bilstm" else None
            cells = (*_correlation(case, "tau_gradient", group, gradient), *_correlation(case, "tau_loo", group, loo))
            yield f"| {title(name)} | {'all' if group is None else group} | {' | '.join(cells)} |"
    yield ""
    yield "Mean ± standard deviation over texts, [95% interval of the mean]; “sig.” is the share with p < .05."


def _correlation(case: Finished, measure: str, group: str | None, theirs: Correlation | None) -> tuple[str, ...]:
    mean = case.aggregate(measure, "mean", group, "kendall")
    spread = case.aggregate(measure, "std", group, "kendall").split(" ")[0]
    share = case.aggregate(measure, "significant_fraction", group, "kendall")
    ours = mean.replace(" [", f" ± {spread} [", 1)
    if theirs is None:
        return "", ours, "", share
    return f"{theirs.mean:.2f} ± {theirs.std:.2f}", ours, f"{theirs.significant:.2f}", share


def figure_3(cases: dict[str, Finished]) -> Iterator[str]:
    yield from heading("data", "model", "all texts", *BIN_HEADS)
    for name, case in cases.items():
        values = case.texts("permutation_tvd")
        most = case.examples.set_index("example_id")["max_attention"].reindex(values.index)
        cells = medians_by_attention(values, most)
        yield f"| {title(name)} | {case.aggregate('permutation_tvd', 'median')} | {' | '.join(cells)} |"
    yield ""
    yield "Median over texts of the median change in output (TVD) over 100 shuffles; in brackets the number of texts."


def _interval(values: pd.Series, statistic: Callable[..., np.ndarray]) -> str:
    return between(bootstrap(values.to_numpy(dtype=float), statistic, seed=0))


def figures_4_5(cases: dict[str, Finished], out: Path) -> Iterator[str]:
    yield "| data | model | solver | mean ε-max JSD | JSD > .6 | Spearman(max α, JSD) | max α ≥ .5: mean JSD |"
    yield "|---|---|---|---|---|---|---|"
    for name, case in cases.items():
        yield _adversary_row(title(name), case)
    for kept in ("epsilon", "0.05"):
        published = read_finished(out / f"sst-bilstm-additive-published-{kept}")
        if published is not None:
            within = "ε" if kept == "epsilon" else "0.05, as their code"
            yield _adversary_row(f"SST | bilstm, additive (kept within {within})", published)
    yield ""
    yield "ε = .01, for bAbI .05. `exact` is certified, `search` and `published` are lower bounds. JSD is at most .693."


def _adversary_row(named: str, case: Finished) -> str:
    values = case.texts("adversarial_jsd")
    most = case.examples.set_index("example_id")["max_attention"].reindex(values.index)
    solver = case.scores.loc[case.scores["measure"] == "adversarial_jsd", "setting"].iloc[0]
    peaked = values[most >= 0.5]
    share = _interval((values > 0.6).astype(float), np.mean)
    found = spearman(values.to_numpy(), most.to_numpy())
    mean_peaked = f"{_interval(peaked, np.mean)} ({len(peaked):,})" if len(peaked) else "–"
    return f"| {named} | {solver} | {case.aggregate('adversarial_jsd')} | {share} | {between(found)} | {mean_peaked} |"


def spearman(x: Float[ndarray, "N"], y: Float[ndarray, "N"]) -> Interval:
    """With its interval: ranks are those within a resample, where texts drawn twice are ties.

    >>> spearman(np.arange(9.0), np.arange(9.0) ** 3).value
    1.0
    """

    def of(rows: Int[ndarray, "N"]) -> float:
        return float(np.corrcoef(rankdata(x[rows]), rankdata(y[rows]))[0, 1])

    return resampled(of, len(x), seed=0)


def figures_6_8(cases: dict[str, Finished]) -> Iterator[str]:
    """The paper prints means over its data sets only, so ours get one too."""
    heads = ("Fig. 6: τ(LOO, grad) − τ(attn, LOO)", "Fig. 7: τ(LOO, grad) − τ(attn, grad)")
    yield f"| data | {heads[0]} | {heads[1]} | Fig. 8: τ(attn, LOO), average − BiLSTM |"
    yield "|---|---|---|---|"
    columns: list[list[Interval]] = [[], [], []]
    for dataset in DATASETS:
        case, average = (cases.get(f"{dataset}-{encoder}-additive") for encoder in ("bilstm", "average"))
        if case is None:
            continue
        both, loo = case.texts("tau_gradient_loo", "kendall"), case.texts("tau_loo", "kendall")
        differences = [both - loo, both - case.texts("tau_gradient", "kendall")]
        if average is not None:
            differences.append(average.texts("tau_loo", "kendall") - loo)
        cells = ["", "", "not run yet"]
        for place, values in enumerate(differences):
            found = bootstrap(values.dropna().to_numpy(), np.mean, seed=0)
            columns[place].append(found)
            cells[place] = between(found)
        yield f"| {title(f'{dataset}-bilstm-additive').split(' | ')[0]} | {' | '.join(cells)} |"
    if columns[0]:
        means = (number(float(np.mean([i.value for i in column]))) if column else "" for column in columns)
        yield f"| *ours, mean of these* | {' | '.join(means)} |"
    yield "| *paper, mean of its data sets* | more than .2 | about .25 | about .375 |"
    yield ""
    yield "Mean difference over texts, [95% bootstrap interval]."
