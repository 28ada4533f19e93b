"""Are the words that an explanation ranks high the ones the output rests on? (DeYoung et al. 2020, ERASER, section 4)

1. Order each text's words by a method's scores (made once, see explained.py).  2. Erase the top 1, 5, 10, 20 and 50% of
   them, one word at least: comprehensiveness is p(c|x) − p(c|without them), high if they were needed; sufficiency is
   p(c|x) − p(c|only them), low if they are enough. c is the class predicted for the whole text, throughout.
3. AOPC is the mean over the shares, the share 0 included, as the paper's formula has it (1/(|B|+1) from k = 0):
   nothing erased, and only nothing kept. The authors' code leaves it out: `zero_bin=False`. It is the same for all
   orders of a text, so that neither ranks nor normalised values depend on it.  4. The same for random orders, for each
   method's order reversed, and for orders found by asking the model (erasing/search.py). The best and the worst of all
   these bound what is possible for this text: normalised = (value − worst) / (best − worst), 1 is best for both
   measures.  5. τ-LOO: Kendall τ between |scores| and the change of output (TVD) when each word alone is deleted.
6. off_data: is the text without the words unlike the data? (erasing/reference.py)
Deviations: words are erased by edits of token ids in four ways (erasing/edits.py), without training the model again and
never by decoding; the paper deletes. A word is all its pieces. Signed scores order words with their sign: a word that
speaks against the class is not part of its rationale. Equal scores stand in an order drawn for the text, the same for
all methods; a method that gives every word the same score has named none, and gets no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heatcheck.batch import Batch, Example
from heatcheck.errors import InputError
from heatcheck.experiments.erasing.edits import OPERATORS, Eraser, eraser
from heatcheck.experiments.erasing.reading import read_in_pieces
from heatcheck.experiments.erasing.reference import Reference
from heatcheck.experiments.erasing.search import random_ranks, searched_ranks
from heatcheck.experiments.erasing.words import UNITS, Words, word_scores
from heatcheck.experiments.explained import Explained
from heatcheck.experiments.rows import value_or_reason, why_undefined
from heatcheck.measure.ranks import constant, kendall
from heatcheck.models.protocols import Predictor
from heatcheck.models.subject import Subject
from heatcheck.randomness import text_seeds
from heatcheck.results import ALL_METHODS, BEST, RANDOM, REVERSED, WORST, Row, Score

MEASURES = ("comprehensiveness", "sufficiency")
HIGHER_IS_BETTER = np.array([1.0, -1.0])  # of MEASURES
NO_WORDS = "the text has no words"
APART = 1e-6  # below this, best and worst differ by rounding
NOTHING_BETWEEN = "the best and the worst order found give the same value"


@dataclass(frozen=True)
class ErasureConfig:
    methods: tuple[str, ...] = ()  # none: all that were explained
    operators: tuple[str, ...] = ("delete", "mask")
    shares: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2, 0.5)
    unit: str = "word"
    special_tokens: bool = False
    zero_bin: bool = True
    random_orders: int = 5
    reversed_orders: bool = True
    search: bool = True
    draws: int = 3  # of the operator "sample"
    batch_size: int = 64

    def __post_init__(self) -> None:
        for name in self.operators:
            if name not in OPERATORS:
                raise InputError(f"erasure: operator {name!r} is not one of {', '.join(OPERATORS)}.")
        if self.unit not in UNITS:
            raise InputError(f"erasure: unit {self.unit!r} is not one of {', '.join(UNITS)}.")
        if not self.operators or not self.shares or not all(0 < share <= 1 for share in self.shares):
            raise InputError(
                f"erasure: shares {self.shares} and operators {self.operators} must be given, shares in 0–1."
            )
        if self.random_orders < 0 or self.draws < 1 or self.batch_size < 1:
            raise InputError("erasure: random_orders cannot be below 0, draws and batch_size not below 1.")


def erasure(
    subject: Subject[Predictor],
    examples: Sequence[Example],
    config: ErasureConfig,
    *,
    generator: torch.Generator,
    explained: Explained,
    prepared: Reference | None = None,
) -> Iterator[Row]:
    """`prepared` is made of all texts of the run; of these alone if there is none."""
    names = explained.chosen(config.methods)
    if not examples:
        return
    reference = prepared or reference_texts(subject, examples, config)
    for batch in subject.batches(examples, config.batch_size):
        texts = Texts.of(batch, subject, config)
        scores = {name: word_scores(explained, batch, name, texts.words) for name in names}
        ranks, none = orders(texts, scores, config, generator), named_none(texts, scores)
        run = partial(reference.probs_and_distance, subject.model)
        deleting = eraser(run, subject.model, batch, texts.words, "delete", None)  # τ-LOO deletes, whatever else does
        for operator in config.operators:
            drawn = reference.pool.drawn(batch, config.draws, generator) if operator == "sample" else None
            own = eraser(run, subject.model, batch, texts.words, operator, drawn)
            found = outcomes(deleting if operator == "delete" else own, texts, ranks, config)._replace(none=none)
            yield from _rows(found, texts, names, operator, config)
            yield from _off_data(found, texts, names, operator, reference, config)
        yield from _tau_loo(deleting, texts, scores)


def reference_texts(subject: Subject[Predictor], examples: Sequence[Example], config: ErasureConfig) -> Reference:
    return Reference.of(subject, examples)


def named_none(texts: Texts, scores: Mapping[str, Float[ndarray, "B U"]]) -> dict[str, dict[int, str]]:
    """By method, and by its reverse: the texts of which it ranks no word above another, and what to say of them."""
    real, found = texts.words.real, {}
    for name, values in scores.items():
        reasons = why_undefined({name: values}, real)
        flat = np.flatnonzero(constant(values, real) & (texts.words.n > 1))
        found[name] = found[f"{REVERSED}{name}"] = {int(row): reasons[row] for row in flat}
    return found


class Texts(NamedTuple):
    """The texts of a batch and what is fixed for all methods."""

    ids: Sequence[str]
    groups: Sequence[str]  # names of the predicted classes
    words: Words
    counts: Int[ndarray, "B S"]  # how many words each share is
    probs: Float[ndarray, "B L"]
    classes: Int[ndarray, "B"]

    @staticmethod
    def of(batch: Batch, subject: Subject[Predictor], config: ErasureConfig) -> Texts:
        words = Words.of(batch, config.unit, special_tokens=config.special_tokens)
        probs = read_in_pieces(subject.model, batch).probs.double().cpu().numpy()
        classes = probs.argmax(1)
        groups = [subject.labels[c] for c in classes]
        return Texts(batch.example_ids, groups, words, words.counts(config.shares), probs, classes)


def orders(
    texts: Texts, scores: Mapping[str, Float[ndarray, "B U"]], config: ErasureConfig, generator: torch.Generator
) -> dict[str, Int[ndarray, "B U"]]:
    """Ranks of the words by each method, by its reverse, and at random."""
    *drawn, ties = random_ranks(texts.words, text_seeds(generator, texts.ids), config.random_orders + 1)
    found = {name: texts.words.ranks(s, ties) for name, s in scores.items()}
    if config.reversed_orders:
        found |= {f"{REVERSED}{name}": texts.words.reversed(found[name]) for name in scores}
    return found | {f"{RANDOM} {i}": ranks for i, ranks in enumerate(drawn)}


class Outcomes(NamedTuple):
    """Per subject, by text, share and measure (comprehensiveness, sufficiency)."""

    values: dict[str, Float[ndarray, "B S 2"]]
    aopc: dict[str, Float[ndarray, "B 2"]]
    distance: dict[str, Float[ndarray, "B S"]]  # of the text without the words from the data
    bounds: tuple[Float[ndarray, "B 2"], Float[ndarray, "B 2"]]  # AOPC of the worst and the best order
    none: Mapping[str, Mapping[int, str]]  # where a method has no order (`named_none`)


def outcomes(erase: Eraser, texts: Texts, ranks: Mapping[str, Int[ndarray, "B U"]], config: ErasureConfig) -> Outcomes:
    names = list(ranks)
    stacked = np.stack(list(ranks.values()))
    if config.search:
        stacked = np.concatenate([stacked, searched_ranks(erase, texts.counts, texts.classes)])
    values, distance = curves(erase, texts, stacked)
    aopc = values.mean(2)
    if config.zero_bin:
        n = values.shape[2]
        aopc = (n * aopc + at_zero(erase, texts)) / (n + 1)
    better = aopc * HIGHER_IS_BETTER
    bounds = better.min(0) * HIGHER_IS_BETTER, better.max(0) * HIGHER_IS_BETTER
    by_name = [dict(zip(names, part, strict=False)) for part in (values, aopc, distance)]
    drawn = [name for name in names if name.startswith(f"{RANDOM} ")]
    for part in by_name:
        several = [part.pop(name) for name in drawn]
        if several:
            part[RANDOM] = np.mean(several, axis=0)
    return Outcomes(by_name[0], by_name[1], by_name[2], bounds, {})


def curves(
    erase: Eraser, texts: Texts, ranks: Int[ndarray, "K B U"]
) -> tuple[Float[ndarray, "K B S 2"], Float[ndarray, "K B S"]]:
    """Both measures for every order, text and share, and how far the text without the words is from the data."""
    top = (ranks[:, :, None, :] < texts.counts[None, :, :, None]) & texts.words.real[None, :, None, :]
    rest = texts.words.real[None, :, None, :] & ~top
    row = np.broadcast_to(np.arange(top.shape[1])[None, :, None], top.shape[:3]).ravel()
    flat = (-1, top.shape[-1])
    both = erase(np.tile(row, 2), np.concatenate([top.reshape(flat), rest.reshape(flat)]))
    change = _drop(both, np.tile(row, 2), texts)
    values = np.stack([part.reshape(top.shape[:3]) for part in np.split(change, 2)], axis=-1)
    return values, both[: len(row), -1].reshape(top.shape[:3])


def at_zero(erase: Eraser, texts: Texts) -> Float[ndarray, "B 2"]:
    """The share 0: without no words nothing changes; with only no words, the empty text is left."""
    row = np.arange(len(texts.ids))
    return np.stack([np.zeros(len(row)), _drop(erase(row, texts.words.real), row, texts)], axis=-1)


def _drop(outputs: Float[ndarray, "N V"], row: Int[ndarray, "N"], texts: Texts) -> Float[ndarray, "N"]:
    classes = texts.classes[row]
    return np.asarray(texts.probs[row, classes] - outputs[np.arange(len(row)), classes])


def _rows(found: Outcomes, texts: Texts, names: Sequence[str], operator: str, config: ErasureConfig) -> Iterator[Score]:
    """Values by share for methods and random; AOPC, as it is and normalised, for reversed orders and bounds too."""
    for subject, aopc in found.aopc.items():
        if subject == RANDOM or subject in names:
            yield from _by_share(subject, found, texts, operator, config)
        yield from _aopc(subject, aopc, found, texts, operator)
        normalised = _share_of_range(aopc - found.bounds[0], found)
        yield from _aopc(subject, normalised, found, texts, f"{operator}:normalised")
    for subject, bound in zip((WORST, BEST), found.bounds, strict=True):
        yield from _aopc(subject, bound, found, texts, operator)
    for subject in names if RANDOM in found.aopc else ():
        yield from _gain(subject, found, texts, operator)


def _known(number: float, subject: str, row: int, found: Outcomes, texts: Texts) -> tuple[float | None, str | None]:
    """The number or why there is none."""
    if not texts.words.n[row]:
        return None, NO_WORDS
    if (reason := found.none.get(subject, {}).get(row)) is not None:
        return None, reason
    return value_or_reason(number, NOTHING_BETWEEN)


def _by_share(subject: str, found: Outcomes, texts: Texts, operator: str, config: ErasureConfig) -> Iterator[Score]:
    for row, (text, group) in enumerate(zip(texts.ids, texts.groups, strict=True)):
        for place, share in enumerate(config.shares):
            for m, measure in enumerate(MEASURES):
                value, reason = _known(found.values[subject][row, place, m], subject, row, found, texts)
                yield Score(measure, value, subject, None, text, group, setting=operator, at=share, reason=reason)


def _aopc(subject: str, values: Float[ndarray, "B 2"], found: Outcomes, texts: Texts, setting: str) -> Iterator[Score]:
    for row, (text, group) in enumerate(zip(texts.ids, texts.groups, strict=True)):
        for m, measure in enumerate(MEASURES):
            value, reason = _known(values[row, m], subject, row, found, texts)
            yield Score(f"aopc_{measure}", value, subject, None, text, group, setting=setting, reason=reason)


def _share_of_range(difference: Float[ndarray, "B 2"], found: Outcomes) -> Float[ndarray, "B 2"]:
    worst, best = found.bounds
    apart = np.abs(best - worst) > APART
    return np.asarray(np.divide(difference, best - worst, out=np.full_like(difference, np.nan), where=apart))


def _gain(subject: str, found: Outcomes, texts: Texts, operator: str) -> Iterator[Score]:
    """What the method's order has over random orders of the same text, as a share of what is possible."""
    gain = _share_of_range(found.aopc[subject] - found.aopc[RANDOM], found)[:, MEASURES.index("comprehensiveness")]
    for row, (text, group) in enumerate(zip(texts.ids, texts.groups, strict=True)):
        value, reason = _known(gain[row], subject, row, found, texts)
        yield Score("gain_over_random", value, subject, RANDOM, text, group, setting=operator, reason=reason)


def _off_data(
    found: Outcomes, texts: Texts, names: Sequence[str], operator: str, reference: Reference, config: ErasureConfig
) -> Iterator[Score]:
    """By method and share, and for the text as a whole: are half of its erased versions far?"""
    far = {name: found.distance[name] > (reference.limit or 0) for name in names}
    most = np.mean([far[name].mean(1) for name in names], axis=0) >= 0.5
    for row, (text, group) in enumerate(zip(texts.ids, texts.groups, strict=True)):
        flags: list[tuple[str, float | None, bool]] = [(ALL_METHODS, None, most[row])]
        flags += [(n, share, far[n][row, s]) for n in names for s, share in enumerate(config.shares)]
        for subject, share, flag in flags:
            value = float(flag) if reference.limit is not None else None
            why = reference.reason
            yield Score("off_data", value, subject, None, text, group, setting=operator, at=share, reason=why)


def _tau_loo(erase: Eraser, texts: Texts, scores: Mapping[str, Float[ndarray, "B U"]]) -> Iterator[Score]:
    real = texts.words.real
    change = leave_one_out(erase, texts, real)
    for name, values in scores.items():
        taus = kendall(np.abs(values), change, real).tau
        reasons = why_undefined({name: np.abs(values), "leave-one-out": change}, real)
        for text, group, tau, why in zip(texts.ids, texts.groups, taus, reasons, strict=True):
            value, reason = value_or_reason(tau, why)
            yield Score(
                "tau_loo_erasure", value, name, "leave_one_out", text, group, setting=erase.operator, reason=reason
            )


def leave_one_out(erase: Eraser, texts: Texts, real: Bool[ndarray, "B U"]) -> Float[ndarray, "B U"]:
    """TVD between the output and the output without each word."""
    row, word = np.nonzero(real)
    change = np.zeros(real.shape)
    if len(row):
        alone = np.zeros((len(row), real.shape[1]), bool)
        alone[np.arange(len(row)), word] = True
        classes = texts.probs.shape[1]
        change[row, word] = np.abs(erase(row, alone)[:, :classes] - texts.probs[row]).sum(1) / 2
    return change
