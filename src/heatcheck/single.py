"""Single texts explained: what `heatcheck explain` and `heatcheck.explainer(...)` do.

>>> import numpy as np
>>> from heatcheck.models.given import subject_of
>>> def predict(texts):  # any function from texts to class probabilities is a model
...     p = np.array([0.9 if "good" in text else 0.2 for text in texts])
...     return np.stack([1 - p, p], axis=1)
>>> subject = subject_of(predict, labels=("no", "yes"))
>>> found = TextExplainer("occlusion", subject).attribute("a good film")
>>> found.words()[["token", "score", "target"]]
  token  score target
0     a    0.0    yes
1  good    0.7    yes
2  film    0.0    yes
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from heatcheck.attributions import Attributions
from heatcheck.batch import PAIR, TEXT, Batch, Example
from heatcheck.data.dataset import text_fingerprint
from heatcheck.data.vocabulary import Vocabulary
from heatcheck.errors import InputError
from heatcheck.experiments.explained import BATCH_SIZE, left_out, usable
from heatcheck.experiments.ranking import LARGEST_DELTA
from heatcheck.explain import ALIASES, audited
from heatcheck.explain.method import Method, parse
from heatcheck.explain.types import Explanation, ProbabilityOf
from heatcheck.models.blackbox import STEADY, BlackBox, asked_twice, shown, unsteady
from heatcheck.models.given import evaluating
from heatcheck.models.subject import Subject
from heatcheck.models.tokens import PretrainedTokens
from heatcheck.report.figures import count
from heatcheck.report.scored import Heatmap, Token
from heatcheck.results import NOT_RANKED

Text = str | tuple[str, str]  # a text, or a text and its pair
Target = str | int | None  # a class by name or number; None: the predicted one


@dataclass(frozen=True)
class TextExplainer:
    """A method and the model it explains. `special_tokens`: marks like [CLS] get their scores too."""

    name: str
    subject: Subject[Any]
    special_tokens: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", canonical(self.name))
        usable(self.subject, self.name)

    def attribute(self, inputs: Text | Sequence[Text], target: Target | Sequence[Target] = None) -> Attributions:
        """`inputs`: a text, a (text, pair), or a list of these; `target`: the class to explain, one for all or a list.

        Scores of a text do not depend on the texts beside it.
        """
        texts: list[Any] = list(inputs) if isinstance(inputs, list) else [inputs]
        examples = [example(text, self.subject) for text in texts]
        classes = _classes(target, len(examples), self.subject.labels)
        found: dict[tuple[int | None, str], Heatmap] = {}
        with evaluating(self.subject.model):
            for wanted in dict.fromkeys(classes):
                some = {e.id: e for e, c in zip(examples, classes, strict=True) if c == wanted}
                found |= {(wanted, e.id): one for e, one in self._heatmaps(list(some.values()), wanted)}
        return Attributions(tuple(found[c, e.id] for e, c in zip(examples, classes, strict=True)))

    def _heatmaps(self, examples: Sequence[Example], wanted: int | None) -> Iterator[tuple[Example, Heatmap]]:
        chosen, subject = usable(self.subject, self.name), self.subject
        lookup = {e.id: e for e in examples}
        for batch in subject.batches(examples, BATCH_SIZE):
            check_words(batch, lookup)
            with torch.no_grad():
                probs = subject.model.probs(subject.model.predict(batch))
            targets = probs.argmax(-1).tolist() if wanted is None else [wanted] * len(batch)
            scalar = ProbabilityOf(dict(zip(batch.example_ids, targets, strict=True)))
            generator = torch.Generator().manual_seed(self.seed)
            explanation = chosen.explain(subject.model, batch, scalar, generator=generator)
            explanation = replace(explanation, notes=(*explanation.notes, *said_of(subject.model, batch)))
            for row, name in enumerate(batch.example_ids):
                yield (
                    lookup[name],
                    self._heatmap(chosen, batch, row, lookup[name], probs[row], targets[row], explanation),
                )

    def _heatmap(
        self,
        chosen: Method,
        batch: Batch,
        row: int,
        text: Example,
        probs: torch.Tensor,
        target: int,
        found: Explanation,
    ) -> Heatmap:
        predicted = int(probs.argmax())
        delta = None if found.delta is None else float(found.delta[row])
        made = Heatmap(
            text=text.text,
            pair=text.pair,
            model=self.subject.name,
            method=self.name,
            predicted=self.subject.labels[predicted],
            probability=float(probs[predicted]),
            target=self.subject.labels[target],
            target_probability=float(probs[target]),
            signed=found.signed,
            tokens=tuple(self._tokens(batch, row, text, found)),
            delta=delta,
            notes=notes(chosen, found, delta, words=int(batch.words[row].sum())),
            cut=self.subject.reader.row(text).cut,
        )
        if not made.cut:
            return made
        rest = f"the text is longer than the model takes; not read at its end: {count(made.unread, 'word')}"
        return replace(made, notes=(*made.notes, rest))

    def _tokens(self, batch: Batch, row: int, text: Example, found: Explanation) -> Iterator[Token]:
        scored = (batch.mask if self.special_tokens else batch.words)[row]
        for place in scored.nonzero().squeeze(1).tolist():
            segment = int(batch.segments[row, place])
            start, end = batch.offsets[row, place].tolist()
            score = float(found.scores[row, place])
            if bool(batch.special[row, place]):
                yield Token(segment, None, start, end, mark_name(self.subject, int(batch.token_ids[row, place])), score)
            else:
                characters = ((text.pair or "") if segment == PAIR else text.text)[start:end]
                yield Token(segment, int(batch.word_ids[row, place]), start, end, characters, score)


def explain_text(
    subject: Subject[Any],
    text: Text,
    methods: Sequence[str] | None = None,
    target: Target = None,
    *,
    special_tokens: bool = False,
    seed: int = 0,
) -> tuple[Attributions, list[str]]:
    """One text by several methods, by default those that an audit compares; and which of these were left out, why."""
    one = example(text, subject)  # a mistake here is no method's fault
    _classes(target, 1, subject.labels)
    check_words(next(subject.batches([one], 1)), {one.id: one})
    found: list[Heatmap] = []
    refused: dict[str, str] = {}
    for name in audited(subject.model) if methods is None else methods:
        try:
            found += TextExplainer(name, subject, special_tokens, seed).attribute(text, target)
        except InputError as error:
            if methods is not None:
                raise
            refused[name] = str(error)
    notes = left_out(refused)
    if not found:
        raise InputError(notes[0] if notes else "No method is named. Name some of `heatcheck list explainers`.")
    return Attributions(tuple(found)), notes


def said_of(model: Any, batch: Batch) -> Iterator[str]:
    """A function need not give the same answer twice."""
    apart = asked_twice(model, batch)[1] if isinstance(model, BlackBox) else 0.0
    if apart > STEADY:
        yield unsteady(model, apart)


def notes(chosen: Method, found: Explanation, delta: float | None, *, words: int) -> tuple[str, ...]:
    """What a reader must know before believing it."""
    known = list(found.notes)
    if not chosen.ranked and not any(NOT_RANKED in note for note in known):
        known.append(f"{NOT_RANKED}: shown as published, with its flaw")
    elif chosen.ranked and delta is not None and delta > LARGEST_DELTA:
        known.append(f"{NOT_RANKED}: its scores do not add up to what they explain")
    if chosen.draws(words):
        known.append("a method with chance in it: another seed may give other scores")
    return tuple(known)


def canonical(name: str) -> str:
    """The name that tables use.

    >>> canonical("input_x_gradient"), canonical("shap(samples=20)")
    ('gradient_x_input', 'kernel_shap(samples=20)')
    """
    return with_settings(name, {})


def with_settings(name: str, settings: dict[str, Any]) -> str:
    """
    >>> with_settings("lime(samples=20)", {"hide": "pad"})
    "lime(samples=20, hide='pad')"
    """
    plain, known = parse(name)
    changed = ", ".join(f"{key}={value!r}" for key, value in {**known, **settings}.items())
    plain = ALIASES.get(plain, plain)
    return f"{plain}({changed})" if changed else plain


def example(text: Text, subject: Subject[Any]) -> Example:
    """With an id that is the text's own, so that random methods draw the same numbers for it in any company."""
    if not isinstance(text, str | tuple) or (isinstance(text, tuple) and len(text) != 2):
        raise InputError(f"{text!r} is not a text, a (text, pair), or a list of these.")
    parts = text if isinstance(text, tuple) else (text,)
    for part, name in zip(parts, ("text", "second text"), strict=False):
        _check_text(part, name)
    task = "pair" if len(parts) == 2 else "single"
    if subject.spec.task not in (task, "any"):
        kinds = {"single": "a single text", "pair": "a pair of texts"}
        instead = (
            "Leave the second one out." if task == "pair" else "Give the second one: --pair, in Python (text, pair)."
        )
        raise InputError(f"{subject.name} takes {kinds[subject.spec.task]}, and was given {kinds[task]}. {instead}")
    made = Example("", parts[0], 0, parts[1] if len(parts) == 2 else None)
    return replace(made, id=text_fingerprint(made))


def _check_text(text: Any, name: str) -> None:
    if not isinstance(text, str):
        raise InputError(f"{text!r} is not a text.")
    if not text.strip():
        raise InputError(f"The {name} {text!r} is empty. Give a text with words.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"The {name} {shown(text)}, character {error.start}: not valid Unicode.") from error


def check_words(batch: Batch, examples: dict[str, Example]) -> None:
    for row, name in enumerate(batch.example_ids):
        for segment, text in ((TEXT, examples[name].text), (PAIR, examples[name].pair)):
            if text is not None and not bool((batch.words[row] & (batch.segments[row] == segment)).any()):
                raise InputError(f"The text {shown(text)} has no word that the model's tokenizer keeps.")


def _classes(target: Target | Sequence[Target], many: int, labels: tuple[str, ...]) -> list[int | None]:
    listed = list(target) if isinstance(target, list | tuple) else [target] * many
    if len(listed) != many:
        raise InputError(f"There are {many} texts and {len(listed)} targets. Give one target for all, or one for each.")
    return [None if one is None else _class(one, labels) for one in listed]


def _class(target: Any, labels: tuple[str, ...]) -> int:
    if isinstance(target, str) and target in labels:
        return labels.index(target)
    if isinstance(target, int | np.integer) and not isinstance(target, bool) and 0 <= target < len(labels):
        return int(target)
    raise InputError(f"The model has no class {target!r}. It has: {', '.join(map(repr, labels))}.")


def mark_name(subject: Subject[Any], token: int) -> str:
    match subject.reader:
        case PretrainedTokens(tokenizer=tokenizer):
            return str(tokenizer.convert_ids_to_tokens(token))
        case Vocabulary(words=words):
            return words[token]
        case _:
            return "<end>"
