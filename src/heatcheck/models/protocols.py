"""What a model must offer. An experiment names the protocol it needs in its signature.

The protocols grow: LIME and leave-one-out need only a `Predictor` (which a black box is, and a network that is run by
token ids), randomisation one that `HasWeights`, gradient methods a `Classifier`, interventions on attention an
`AttentiveClassifier`, the exact adversary a `LinearDecoder`, rollout and flow a `TransformerClassifier`.
`SharesDecoding` and `SharesDeletions` are optional shortcuts: the same numbers, faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heatcheck.batch import Batch
from heatcheck.errors import InputError

Kind = Literal["binary", "categorical"]


@runtime_checkable
class Predictor(Protocol):
    """`predict(batch)` are the model's logits (a black box: log-probabilities), `probs(logits)` its distribution over
    classes. A word is hidden by putting `mask_id` in its place, a text is emptied by `pad_id`."""

    kind: Kind
    pad_id: int
    mask_id: int

    def predict(self, batch: Batch) -> Float[Tensor, "B C"]: ...

    def probs(self, logits: Float[Tensor, "B C"]) -> Float[Tensor, "B L"]: ...


@runtime_checkable
class HasWeights(Predictor, Protocol):
    """A model whose weights can be seen, as an `nn.Module` shows them."""

    def named_parameters(self) -> Iterable[tuple[str, nn.Parameter]]: ...


@runtime_checkable
class Classifier(Predictor, Protocol):
    """A model that can be entered at its word embeddings: `predict(batch)` is `logits(embed(batch), batch)`."""

    def embed(self, batch: Batch) -> Float[Tensor, "B T E"]: ...

    def logits(self, embeddings: Float[Tensor, "B T E"], batch: Batch) -> Float[Tensor, "B C"]: ...


@runtime_checkable
class KnowsWords(Predictor, Protocol):
    """`ordinary_ids` are the token ids that can stand in a text, marks left out."""

    @property
    def ordinary_ids(self) -> Int[Tensor, "V"]: ...


@runtime_checkable
class TransformerClassifier(Classifier, Protocol):
    """Layers of self-attention: `logits_and_maps` gives the output and every layer's weights in one graph.

    `readout` is the position whose last state is classified: [CLS], or the last token of a decoder.
    """

    def logits_and_maps(
        self, embeddings: Float[Tensor, "B T E"], batch: Batch
    ) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B L H T T"]]: ...

    def readout(self, batch: Batch) -> Int[Tensor, "B"]: ...


@runtime_checkable
class AttentiveClassifier(Classifier, Protocol):
    """Encode, attend, classify: every test of attention passes another attention to `classify`."""

    def encode(self, embeddings: Float[Tensor, "B T E"], batch: Batch) -> Float[Tensor, "B T H"]: ...

    def attend(self, encoded: Float[Tensor, "B T H"], batch: Batch) -> Float[Tensor, "B K T"]: ...

    def classify(
        self, encoded: Float[Tensor, "B T H"], attention: Float[Tensor, "B K T"], batch: Batch
    ) -> Float[Tensor, "B C"]: ...


@runtime_checkable
class ReadsTokens(AttentiveClassifier, Protocol):
    """`read(batch)` is `encode(embed(batch), batch)`, with what depends on a word alone done once for each word."""

    def read(self, batch: Batch) -> Float[Tensor, "B T H"]: ...


def encoded_tokens(model: AttentiveClassifier, batch: Batch) -> Float[Tensor, "B T H"]:
    """The encoded tokens of texts as they are."""
    return model.read(batch) if isinstance(model, ReadsTokens) else model.encode(model.embed(batch), batch)


class Entered(NamedTuple):
    """Encoded tokens, and where a slope can be taken: at what is linear in the embeddings, but for a constant.

    There Σ_k ∂y/∂x_k · x_k, without the constant, is Σ_d ∂y/∂e_d · e_d; `times_input(slopes)` gives it for each token.
    """

    encoded: Float[Tensor, "B T H"]
    taken: tuple[Tensor, ...]
    times_input: Callable[[Sequence[Tensor]], Float[Tensor, "B T"]]

    @staticmethod
    def at(embeddings: Float[Tensor, "B T E"], encode: Callable[[Tensor], Tensor]) -> Entered:
        taken = embeddings.detach().requires_grad_()
        return Entered(encode(taken), (taken,), lambda slopes: (slopes[0] * taken.detach()).sum(-1))


@runtime_checkable
class EntersTokens(AttentiveClassifier, Protocol):
    """`enter(batch)` is `Entered.at(embed(batch), encode)`, where there is a shorter way to the same."""

    def enter(self, batch: Batch) -> Entered: ...


def entered_tokens(model: AttentiveClassifier, batch: Batch) -> Entered:
    if isinstance(model, EntersTokens):
        return model.enter(batch)
    return Entered.at(model.embed(batch), lambda embeddings: model.encode(embeddings, batch))


Decide = Callable[[Float[Tensor, "N B T"]], Float[Tensor, "N B C"]]


@runtime_checkable
class SharesDecoding(AttentiveClassifier, Protocol):
    """`decoder(encoded, batch)` is `classify` for many attentions to the same texts."""

    def decoder(self, encoded: Float[Tensor, "B T H"], batch: Batch) -> Decide: ...


@runtime_checkable
class LinearDecoder(AttentiveClassifier, Protocol):
    """Logits are the attention-weighted mean of per-token logits, so `classify` is one dot product."""

    def token_logits(self, encoded: Float[Tensor, "B T H"]) -> Float[Tensor, "B T C"]: ...


class Deletions(NamedTuple):
    """`without[:, t]` are the logits after deleting word t; where no word stands they have no meaning."""

    whole: Float[Tensor, "B C"]
    without: Float[Tensor, "B T C"]


@runtime_checkable
class SharesDeletions(Classifier, Protocol):
    """Can delete each word in turn and share the work between the deletions; None for a batch where it cannot."""

    def logits_without_each(self, batch: Batch) -> Deletions | None: ...


def finite(probs: Float[Tensor, "B L"], batch: Batch) -> Float[Tensor, "B L"]:
    """The same, or a sentence on the first text whose output is no number."""
    lost = ~torch.isfinite(probs).all(-1)
    if lost.any():
        raise InputError(
            f"The model's output for the text {batch.example_ids[int(lost.int().argmax())]!r} is not finite. Mend the "
            "model, or leave the text out."
        )
    return probs


def distribution(kind: Kind, logits: Float[Tensor, "*B C"]) -> Float[Tensor, "*B L"]:
    """The class distribution: one logit z is the Bernoulli (σ(−z), σ(z)); several are a softmax."""
    if kind == "binary":
        return torch.cat([torch.sigmoid(-logits), torch.sigmoid(logits)], dim=-1)
    return torch.softmax(logits, dim=-1)


WORDS: dict[type[object], str] = {
    Predictor: "a model",
    HasWeights: "a model that shows its weights",
    Classifier: "a model that can be entered at its word embeddings",
    AttentiveClassifier: "an attention model (of `heatcheck train`)",
    TransformerClassifier: "a transformer that shows its attention",
}


def in_words(protocol: type[object]) -> str:
    """What a protocol asks for, to a user."""
    return WORDS.get(protocol, protocol.__name__)
