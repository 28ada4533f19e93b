"""Amini & Kosseim 2022: AtteFa of which models on which data; `paper_3_page` writes the tables.

Each case is one run folder below `out`. Words of the mock data are Hu & Liu's, as in the paper (files in
`lexicons`). Base seed 10; adversaries have the paper's seeds but 10 itself, with which a twin starts from the very
weights that the base started from (`--full`: all nine).

Beyond the tables, as small as shows it: word vectors, softmax temperature, place and strength of the evidence, encoder,
heads, and seeds of the base beside those of the adversary. Mock-5 with 2,000 texts has as many planted words as Mock-1
with 10,000, and Mock-2q many more.

Core-hours, from the seconds of an epoch (measured on two busy cores: Mock-* 6 with an MLP and 27 with a BiLSTM, SST 2.5
and 7.5, AG News 4 and 15) and the paper's numbers of epochs: MLP on Mock-* 1.3, BiLSTM on four of them 1.0, SST and AG
News 0.6, the extensions 2.2; together 5. `--full`: about 40.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from heatcheck.data.mock import INFORMATIVE, is_mock
from heatcheck.experiments.attefa import AtteFaConfig
from heatcheck.experiments.trained.seeds import PAPER_2
from heatcheck.models.fit import Recipe
from heatcheck.models.spec import ENCODERS, ModelSpec
from heatcheck.reproduce.cases import run_requests
from heatcheck.request import Request

__all__ = ["CASES", "FULL_CASES", "Case", "run_cases", "run_full"]

BASE_SEED = 10
ONE, THREE, NINE = PAPER_2[:1], PAPER_2[:3], (BASE_SEED, *PAPER_2)
MOCK = tuple(INFORMATIVE)
MLP, LSTM = "mlp", "bilstm"
WORDS = ("hu_liu_negative.txt", "hu_liu_positive.txt")
TABLES = "tables"
TEMPERATURES = (0.5, 1.0, 2.0)
PLACES = ("start", "middle", "end", "scattered")


@dataclass(frozen=True)
class Case:
    """One model on one data set. `what`: which of the page's tables it is for; `variant` tells it from its like."""

    dataset: str
    encoder: str
    seeds: tuple[int, ...]
    what: str = TABLES
    variant: str = ""
    bases: tuple[int, ...] = ()
    temperature: float = 1.0
    heads: int = 1
    part: str = ""
    lists: bool = True  # Hu & Liu's words; else those that come with heatcheck
    recipe: Recipe = field(default_factory=Recipe)
    hidden: int = 128
    embedding_width: int = 300
    epochs: int | None = None  # None: 80

    @property
    def data(self) -> str:
        """Its data set's name without settings."""
        return self.dataset.partition("(")[0]

    @property
    def name(self) -> str:
        """
        >>> Case("mock-5(train=2000)", "mlp", (1,), "heads", "2").name
        'mock-5-mlp-heads-2'
        """
        return "-".join([self.data, self.encoder, *([self.what, self.variant] if self.variant else [])]) + self.part

    @property
    def groups(self) -> tuple[str, ...]:
        return (self.data, self.what)

    def request(self, data_dir: Path, limit: int | None) -> Request:
        spec = ModelSpec(
            self.encoder, hidden=self.hidden, embedding_width=self.embedding_width, temperature=self.temperature,
            heads=self.heads,
        )  # fmt: skip
        lists = is_mock(self.dataset) and self.lists
        attefa = AtteFaConfig(self.seeds, self.bases, self.epochs, one_seed=len(self.seeds) == 1)
        return Request(
            data=self.dataset, data_dir=data_dir, spec=spec, recipe=self.recipe, limit=limit,
            words=tuple(data_dir / "lexicons" / name for name in WORDS) if lists else (), seed=BASE_SEED,
            experiments=("attefa",), configs={"attefa": attefa},
        )  # fmt: skip


def _tables() -> Iterator[Case]:
    """Tables 2 and 3. What is cheap and says most comes first."""
    yield from (Case(name, MLP, THREE) for name in ("mock-1", "mock-3q"))
    yield from (Case("sst-full", encoder, THREE) for encoder in (MLP, LSTM))
    yield Case("mock-1", LSTM, THREE)
    yield from (Case(name, MLP, THREE) for name in MOCK if name not in ("mock-1", "mock-3q"))
    yield from (Case(name, LSTM, ONE) for name in ("mock-5", "mock-1q", "mock-3q"))
    yield from (Case("agnews", encoder, ONE) for encoder in (MLP, LSTM))


def _extensions() -> Iterator[Case]:
    # Drawn vectors are longer than the packaged ones. The same words are known.
    yield Case("mock-1", LSTM, THREE, "vectors", "none", recipe=Recipe(vectors="none"))
    for heads in (2, 4):
        yield Case("mock-5(train=2000)", MLP, THREE, "heads", str(heads), heads=heads)
    for encoder in ENCODERS:
        yield Case("mock-5(train=2000)", encoder, THREE if encoder == MLP else ONE, "encoder", "small")
    for dataset in ("mock-1", "mock-2q(train=2000)"):
        for value in TEMPERATURES:
            if (dataset, value) != ("mock-1", 1.0):  # that one is in table 3
                yield Case(dataset, MLP, THREE, "temperature", f"{value:g}", temperature=value)
    for strength in ("strong", "weak"):
        yield Case(f"mock-5(strength='{strength}', train=2000)", MLP, THREE, "strength", strength, lists=False)
    for place in PLACES:
        for encoder in ("cnn", LSTM):
            # Few words to know, so that half of the texts do: VADER's strong ones.
            data = f"mock-1(place='{place}', strength='strong', train=4000)"
            yield Case(data, encoder, THREE, "place", place, lists=False)
    for dataset in ("sst-full", "mock-2q(train=2000)"):
        yield Case(dataset, MLP, THREE, "bases", "3", bases=PAPER_2[:2])


def _full() -> Iterator[Case]:
    yield from (Case(name, encoder, NINE, part="-full") for encoder in (MLP, LSTM) for name in MOCK)
    for name in ("sst-full", "agnews", "imdb-paper"):
        yield from (Case(name, encoder, NINE, part="-full") for encoder in (MLP, LSTM))


CASES = (*_tables(), *_extensions())
FULL_CASES = (*_full(), *_extensions())


run_cases = partial(run_requests, "paper-3", CASES)
run_full = partial(run_requests, "paper-3", FULL_CASES)
