"""Do explanation methods rank the words of a text alike? (Neely et al. 2022, section 3.3, tables 1 and 2)

1. Take each method's scores for a text (made once, see explained.py).  2. Compare every two methods over its words, of
   both texts of a pair: Kendall τ-b, the paper's measure; Spearman and Pearson, its footnote 5; and for the top of the
   lists alone the overlap, rank-biased overlap, and the top-k Kendall of the authors' code.  3. The mean τ over all
   pairs of methods says how far they agree on this text (figure 1).
A word counts by the size of its score, |score|, as in the authors' code: a word that speaks strongly against the class
is important too. `signed=True` keeps the sign, for methods that have one.
Deviations: marks like [CLS] take no part unless `special_tokens`; the authors include them. Methods that are not to be
ranked are compared, but left out of the mean over pairs: at once those that are known not to be, and when all texts are
done those that turn out to miss their sum or to change with the seed (`ranked_means`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float
from numpy import ndarray

from heatcheck.batch import Example
from heatcheck.errors import InputError
from heatcheck.experiments.explained import Explained
from heatcheck.experiments.rows import predicted_names, value_or_reason, why_undefined
from heatcheck.explain import distinct, method
from heatcheck.measure.agreement import kendall_top_k, pearson, rbo, spearman, topk_overlap
from heatcheck.measure.ranks import kendall
from heatcheck.models.subject import Subject
from heatcheck.results import ALL_METHODS, Row, Score

NO_PAIR = "undefined: no two methods that are ranked can be compared on this text"


@dataclass(frozen=True)
class AgreementConfig:
    methods: tuple[str, ...] = ()  # none: all that were explained
    special_tokens: bool = False
    signed: bool = False
    top_share: float = 0.25  # of a text's words: what a reader of a heatmap sees at a glance
    persistence: float = 0.9  # of rank-biased overlap: how far down the list a reader goes
    batch_size: int = 32

    def __post_init__(self) -> None:
        if not 0 < self.top_share <= 1:
            raise InputError(f"top_share is {self.top_share}; it is a share of the words: above 0, at most 1.")
        if not 0 < self.persistence < 1:
            raise InputError(f"persistence is {self.persistence}; it is a probability: above 0 and below 1.")


def marks_note(config: Any, base: Any) -> list[str]:
    """Of experiments that rank marks too, if asked."""
    if not config.special_tokens:
        return []
    return [
        "Marks like [CLS] are ranked too. Methods that hide or replace words never take a mark away and give it 0; in "
        "paper 5, which ranked marks, they did."
    ]


def agreement(
    subject: Subject[Any],
    examples: Sequence[Example],
    config: AgreementConfig,
    *,
    generator: torch.Generator,
    explained: Explained,
) -> Iterator[Row]:
    names = compared_methods(config, explained)
    ranked = [method(name).ranked for name in names]
    for batch in subject.batches(examples, config.batch_size):
        with torch.no_grad():
            groups = predicted_names(subject, subject.model.probs(subject.model.predict(batch)))
        words = (batch.mask if config.special_tokens else batch.words).cpu().numpy()
        lists = np.stack([explained.scores_of(batch, name, words) for name in names])
        texts = Texts(batch.example_ids, groups, words, lists if config.signed else np.abs(lists))
        found = [(measure, compare_all(measure.compare, texts.lists, words)) for measure in measures(config)]
        for measure, values in found:
            yield from _pairs(names, texts, measure, values)
        yield from _means(ranked, texts, found[0][1])


def check_methods(config: AgreementConfig, task: str, n_labels: int) -> None:
    """Before anything is explained, if methods were named."""
    if config.methods:
        _check_several(config.methods)


def compared_methods(config: AgreementConfig, explained: Explained) -> tuple[str, ...]:
    names = explained.chosen(config.methods)
    _check_several(names)
    return names


def _check_several(names: Sequence[str]) -> None:
    if len(known := distinct(names)) < 2:
        there = f"only {known[0]}" if known else "none"
        raise InputError(f"agreement compares methods, and there is {there}. Give two or more.")


class Texts(NamedTuple):
    """The texts of a batch, with every method's scores."""

    ids: Sequence[str]
    groups: Sequence[str]
    words: Bool[ndarray, "B T"]
    lists: Float[ndarray, "M B T"]


Compare = Callable[[Float[ndarray, "N T"], Float[ndarray, "N T"], Bool[ndarray, "N T"]], Float[ndarray, "N"]]


class Measure(NamedTuple):
    name: str
    setting: str | None
    at: float | None
    compare: Compare


def measures(config: AgreementConfig) -> tuple[Measure, ...]:
    share, p = config.top_share, config.persistence
    return (
        Measure("kendall", None, None, lambda a, b, words: kendall(a, b, words).tau),
        Measure("kendall", "top_k", share, lambda a, b, words: kendall_top_k(a, b, words, top(words, share))),
        Measure("spearman", None, None, spearman),
        Measure("pearson", None, None, pearson),
        Measure("topk_overlap", None, share, lambda a, b, words: topk_overlap(a, b, words, top(words, share))),
        Measure("rbo", None, p, lambda a, b, words: rbo(a, b, words, p)),
    )


def top(words: Bool[ndarray, "N T"], share: float) -> ndarray:
    """How many words are the top: a share, rounded up.

    >>> top(np.ones((1, 20), bool), 0.25), top(np.ones((1, 2), bool), 0.25)
    (array([5]), array([1]))
    """
    return np.asarray(np.ceil(share * words.sum(1) - 1e-9), dtype=int)


def compare_all(compare: Compare, lists: Float[ndarray, "M B T"], words: Bool[ndarray, "B T"]) -> Float[ndarray, "P B"]:
    """Every two of M lists for the same texts, in the order of `combinations`, in one call."""
    first, second = np.array(list(combinations(range(len(lists)), 2))).T
    flat = (len(first) * len(words), words.shape[1])
    values = compare(lists[first].reshape(flat), lists[second].reshape(flat), np.tile(words, (len(first), 1)))
    return np.asarray(values.reshape(len(first), len(words)))


def _pairs(names: Sequence[str], texts: Texts, measure: Measure, found: Float[ndarray, "P B"]) -> Iterator[Score]:
    lists = dict(zip(names, texts.lists, strict=True))
    for (first, second), values in zip(combinations(names, 2), found, strict=True):
        reasons = why_undefined({first: lists[first], second: lists[second]}, texts.words)
        for text, group, number, why in zip(texts.ids, texts.groups, values, reasons, strict=True):
            value, reason = value_or_reason(number, why)
            yield Score(
                measure.name,
                value,
                first,
                second,
                text,
                group,
                setting=measure.setting,
                at=measure.at,
                reason=reason,
            )


def _means(ranked: Sequence[bool], texts: Texts, taus: Float[ndarray, "P B"]) -> Iterator[Score]:
    """Of each text the mean τ over the pairs of ranked methods that have one: do the methods agree here?"""
    counts = np.array([a and b for a, b in combinations(ranked, 2)])
    if not counts.any():
        return
    for text, group, values in zip(texts.ids, texts.groups, taus[counts].T, strict=True):
        known = values[~np.isnan(values)]
        mean = float(known.mean()) if len(known) else None
        yield Score("kendall", mean, ALL_METHODS, None, text, group, reason=NO_PAIR if mean is None else None)


def ranked_means(scores: pa.Table, left_out: Collection[str]) -> pa.Table:
    """A step's `scores` with each text's mean τ taken again, without methods that turned out not to be ranked."""
    frame = scores.to_pandas()
    taus = (frame["measure"] == "kendall") & frame["setting"].isna()
    named = frame[["subject", "reference"]].isin(set(left_out)).any(axis=1)
    by_text = frame[taus & frame["reference"].notna() & ~named].groupby("example_id")["value"].mean()
    means = taus & (frame["subject"] == ALL_METHODS)
    value = frame["value"].where(~means, frame["example_id"].map(by_text))
    reason = frame["reason"].where(~means | value.notna(), NO_PAIR)
    for name, column in (("value", value), ("reason", reason)):
        place = scores.schema.get_field_index(name)
        scores = scores.set_column(place, scores.schema.field(place), pa.array(column, scores.schema.field(place).type))
    return scores
