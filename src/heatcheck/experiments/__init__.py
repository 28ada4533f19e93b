"""The experiments, one file each. EXPERIMENTS is the list of all there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatcheck.batch import Example
from heatcheck.experiments.adversarial_attention import AdversarialConfig, adversarial_attention, check_solver
from heatcheck.experiments.agreement import AgreementConfig, agreement
from heatcheck.experiments.correlation import CorrelationConfig, correlation
from heatcheck.experiments.erasure import ErasureConfig, erasure
from heatcheck.experiments.performance import PerformanceConfig, performance
from heatcheck.experiments.permutation import PermutationConfig, permutation
from heatcheck.experiments.plausibility import PlausibilityConfig, check_plausibility, plausibility, rationale_files
from heatcheck.experiments.randomisation import RandomisationConfig, randomisation
from heatcheck.experiments.repeatability import RepeatabilityConfig, repeatability
from heatcheck.models.protocols import AttentiveClassifier, Classifier, Predictor
from heatcheck.results import Row


@dataclass(frozen=True)
class Experiment:
    """`measure(subject, examples, config, *, generator)` yields rows; `needs` is what the model must offer."""

    measure: Callable[..., Iterator[Row]]
    config: type[Any]
    needs: type[Any]
    question: str
    source: str
    revision: int = 1  # counted up when its numbers change, so that finished steps of before are not reused
    check: Callable[[Any, str, int], None] = lambda config, task, n_labels: None  # can it serve this task?
    check_texts: Callable[[Any, Sequence[Example]], None] = lambda config, examples: None  # can it serve these texts?
    files: Callable[[Any], tuple[Path, ...]] = lambda config: ()  # what it reads beside the texts
    slow: bool = False  # minutes a text: its steps are of fewer texts
    explained: bool = False  # takes the explanations of `config.methods`, made once for all experiments


EXPERIMENTS: dict[str, Experiment] = {
    "performance": Experiment(
        performance, PerformanceConfig, Predictor, "How well does the model do?", "paper 1, table 1"
    ),
    "correlation": Experiment(
        correlation,
        CorrelationConfig,
        AttentiveClassifier,
        "Do attention, gradients and leave-one-out rank the words alike?",
        "Jain & Wallace 2019, section 4.1",
    ),
    "permutation": Experiment(
        permutation,
        PermutationConfig,
        AttentiveClassifier,
        "Does shuffling attention change the output?",
        "Jain & Wallace 2019, section 4.2.1",
        revision=2,
    ),
    "adversarial_attention": Experiment(
        adversarial_attention,
        AdversarialConfig,
        AttentiveClassifier,
        "How different can attention be for the same output?",
        "Jain & Wallace 2019, section 4.2.2",
        check=check_solver,
    ),
    "agreement": Experiment(
        agreement,
        AgreementConfig,
        Predictor,
        "Do explanation methods rank the words alike?",
        "Neely et al. 2022",
        explained=True,
    ),
    "erasure": Experiment(
        erasure,
        ErasureConfig,
        Predictor,
        "What happens when the words it names are removed?",
        "DeYoung et al. 2020",
        explained=True,
    ),
    "repeatability": Experiment(
        repeatability,
        RepeatabilityConfig,
        Predictor,
        "Same text, another seed: the same explanation?",
        "beyond the papers",
        slow=True,
    ),
    "randomisation": Experiment(
        randomisation,
        RandomisationConfig,
        Classifier,
        "Random weights: does the explanation change?",
        "Adebayo et al. 2018",
        slow=True,
    ),
    "plausibility": Experiment(
        plausibility,
        PlausibilityConfig,
        Predictor,
        "Does it mark the words that people mark?",
        "DeYoung et al. 2020",
        check_texts=check_plausibility,
        files=rationale_files,
        explained=True,
    ),
}
