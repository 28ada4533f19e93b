"""The experiments, one file each. EXPERIMENTS is the list of all there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatcheck.batch import Example
from heatcheck.data.reading import Reader
from heatcheck.experiments.adversarial_attention import AdversarialConfig, adversarial_attention, check_solver
from heatcheck.experiments.agreement import AgreementConfig, agreement, check_methods, marks_note
from heatcheck.experiments.attefa import (
    AtteFaConfig,
    attefa,
    attefa_models,
    attefa_notes,
    check_attefa_base,
    faithfulness,
)
from heatcheck.experiments.correlation import CorrelationConfig, correlation
from heatcheck.experiments.erasure import ErasureConfig, erasure, reference_texts
from heatcheck.experiments.ground_truth import GroundTruthConfig, check_ground_truth, ground_truth
from heatcheck.experiments.guided_mlp import (
    GuidedConfig,
    check_guide_files,
    check_guided_base,
    guide_files,
    guided_mlp,
    guided_models,
    guided_notes,
    which_guides_help,
)
from heatcheck.experiments.performance import PerformanceConfig, performance
from heatcheck.experiments.permutation import PermutationConfig, permutation
from heatcheck.experiments.plausibility import (
    PlausibilityConfig,
    check_plausibility,
    plausibility,
    rationale_files,
    run_rationales,
)
from heatcheck.experiments.randomisation import RandomisationConfig, randomisation
from heatcheck.experiments.repeatability import RepeatabilityConfig, repeatability
from heatcheck.experiments.seed_variance import (
    SeedConfig,
    check_seed_base,
    over_all_seeds,
    seed_models,
    seed_notes,
    seed_variance,
)
from heatcheck.experiments.trained.base import Base
from heatcheck.experiments.trained.conclusions import Texts
from heatcheck.experiments.trained.jobs import Job
from heatcheck.experiments.trained_adversary import (
    AdversaryConfig,
    adversary_models,
    adversary_notes,
    check_adversary_base,
    price_of_lying,
    trained_adversary,
)
from heatcheck.experiments.uniform_attention import (
    UniformConfig,
    check_uniform_base,
    is_attention_needed,
    uniform_attention,
    uniform_models,
    uniform_notes,
)
from heatcheck.models.heads import HasHeads
from heatcheck.models.protocols import AttentiveClassifier, HasWeights, Predictor
from heatcheck.models.subject import Subject
from heatcheck.results import Row, Score


@dataclass(frozen=True)
class Experiment:
    """`measure(subject, examples, config, *, generator)` yields rows; `needs` is what the model must offer."""

    measure: Callable[..., Iterator[Row]]
    config: type[Any]
    needs: type[Any] | tuple[type[Any], ...]
    question: str
    source: str
    revision: int = 1  # counted up when its numbers change, so that finished steps of before are not reused
    check: Callable[[Any, str, int], None] = lambda config, task, n_labels: None  # can it serve this task?
    check_texts: Callable[[Any, Sequence[Example]], None] = lambda config, examples: None  # can it serve these texts?
    files: Callable[[Any], tuple[Path, ...]] = lambda config: ()  # what it reads beside the texts
    slow: bool = False  # seconds or minutes a text: its steps are of fewer texts
    explained: bool = False  # takes the explanations of `config.methods`, made once for all experiments
    # What it needs of all texts of a run, made once and handed to each step, which has a part of them, as `prepared`.
    prepare: Callable[[Subject[Any], Sequence[Example], Any], Any] | None = None
    # Tests that train: the models they need, given those that are done, and what follows from all texts together.
    models: Callable[[Subject[Any], Any, Mapping[str, Path]], Iterator[Job]] | None = None
    conclude: Callable[[Texts, Any], Iterator[Score]] | None = None
    check_base: Callable[[Any, Base], None] = lambda config, base: None  # can it go with this model?
    # Do the files it reads fit these texts, in the words that the model sees?
    check_files: Callable[[Any, Reader, Sequence[Example]], None] = lambda config, reader, examples: None
    notes: Callable[[Any, Base], list[str]] = lambda config, base: []  # what is to be said beside its numbers
    one_head: bool = False  # attention is one distribution over the words
    beside: tuple[str, ...] = ()  # experiments whose numbers belong into the same picture


EXPERIMENTS: dict[str, Experiment] = {
    "performance": Experiment(
        performance, PerformanceConfig, Predictor, "How well does the model do?", "paper 1, table 1", revision=2
    ),
    "correlation": Experiment(
        correlation,
        CorrelationConfig,
        AttentiveClassifier,
        "Do attention, gradients and leave-one-out rank the words alike?",
        "Jain & Wallace 2019, section 4.1",
        revision=2,
    ),
    "permutation": Experiment(
        permutation,
        PermutationConfig,
        AttentiveClassifier,
        "Does shuffling attention change the output?",
        "Jain & Wallace 2019, section 4.2.1",
        revision=2,
        one_head=True,
    ),
    "adversarial_attention": Experiment(
        adversarial_attention,
        AdversarialConfig,
        AttentiveClassifier,
        "How different can attention be for the same output?",
        "Jain & Wallace 2019, section 4.2.2",
        check=check_solver,
        one_head=True,
    ),
    "agreement": Experiment(
        agreement,
        AgreementConfig,
        Predictor,
        "Do explanation methods rank the words alike?",
        "Neely et al. 2022",
        check=check_methods,
        explained=True,
        notes=marks_note,
    ),
    "erasure": Experiment(
        erasure,
        ErasureConfig,
        Predictor,
        "What happens when the words it names are removed?",
        "DeYoung et al. 2020",
        revision=3,
        slow=True,
        explained=True,
        prepare=reference_texts,
    ),
    "repeatability": Experiment(
        repeatability,
        RepeatabilityConfig,
        Predictor,
        "Same text, another seed: the same explanation?",
        "beyond the papers",
        revision=4,
        slow=True,
        explained=True,
    ),
    "randomisation": Experiment(
        randomisation,
        RandomisationConfig,
        HasWeights,
        "Random weights: does the explanation change?",
        "Adebayo et al. 2018",
        revision=2,
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
        prepare=run_rationales,
        revision=2,
    ),
    "ground_truth": Experiment(
        ground_truth,
        GroundTruthConfig,
        Predictor,
        "Does it find evidence that we planted?",
        "beyond the papers, on paper 3's mock data",
        check_texts=check_ground_truth,
        explained=True,
    ),
    "uniform_attention": Experiment(
        uniform_attention,
        UniformConfig,
        HasHeads,
        "Is attention needed at all?",
        "Wiegreffe & Pinter 2019, section 3.2",
        models=uniform_models,
        conclude=is_attention_needed,
        check_base=check_uniform_base,
        notes=uniform_notes,
    ),
    "seed_variance": Experiment(
        seed_variance,
        SeedConfig,
        HasHeads,
        "How much does attention vary by seed alone?",
        "Wiegreffe & Pinter 2019, section 3.3",
        models=seed_models,
        conclude=over_all_seeds,
        check_base=check_seed_base,
        notes=seed_notes,
        beside=("adversarial_attention",),
    ),
    "guided_mlp": Experiment(
        guided_mlp,
        GuidedConfig,
        AttentiveClassifier,
        "Do its weights help a model that sees no context?",
        "Wiegreffe & Pinter 2019, section 3.4",
        models=guided_models,
        conclude=which_guides_help,
        check_base=check_guided_base,
        files=guide_files,
        check_files=check_guide_files,
        notes=guided_notes,
    ),
    "trained_adversary": Experiment(
        trained_adversary,
        AdversaryConfig,
        HasHeads,
        "Can one trained model lie about attention on every text?",
        "Wiegreffe & Pinter 2019, section 4",
        revision=3,
        models=adversary_models,
        conclude=price_of_lying,
        check_base=check_adversary_base,
        notes=adversary_notes,
        beside=("adversarial_attention", "seed_variance", "uniform_attention"),
    ),
    "attefa": Experiment(
        attefa,
        AtteFaConfig,
        HasHeads,
        "How faithful is attention, in one number?",
        "Amini & Kosseim 2022",
        revision=2,
        models=attefa_models,
        conclude=faithfulness,
        check_base=check_attefa_base,
        notes=attefa_notes,
    ),
}
