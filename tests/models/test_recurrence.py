"""The LSTM that reads by distinct words against PyTorch's, states and slopes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from heatcheck.models.encoders import Encoder, RecurrentEncoder, TokenwiseEncoder, mirrored

ENCODERS = {
    "lstm": lambda: RecurrentEncoder(5, 3, nn.LSTM),
    "gru": lambda: RecurrentEncoder(5, 3, nn.GRU),
    "tokenwise": lambda: TokenwiseEncoder(5, 6),
}


def texts(lengths: list[int], words: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Vectors of the words, which word stands where, and which places are real."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return torch.randn(words, 5).double(), torch.randint(words, mask.shape), mask


def packed(encoder: RecurrentEncoder, embeddings: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """One bidirectional `nn.LSTM` on packed texts: what the two directions here have to equal."""
    rnn = nn.LSTM(5, 3, batch_first=True, bidirectional=True).double()
    back = {f"{name}_reverse": value for name, value in encoder.backwards.state_dict().items()}
    rnn.load_state_dict(encoder.forwards.state_dict() | back)
    sequence = nn.utils.rnn.pack_padded_sequence(embeddings, mask.sum(1), batch_first=True, enforce_sorted=False)
    return nn.utils.rnn.pad_packed_sequence(rnn(sequence)[0], batch_first=True)[0]


@pytest.mark.parametrize("kind", ENCODERS)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4), words=st.integers(1, 5), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_reading_words_is_encoding_embeddings(kind, lengths, words, seed):
    torch.manual_seed(seed)
    encoder: Encoder = ENCODERS[kind]().double()
    vectors, places, mask = texts(lengths, words)
    vectors.requires_grad_()
    weights = [vectors, *encoder.parameters()]
    direction = torch.randn(*mask.shape, encoder.width).double() * mask[..., None]
    read = encoder.read(vectors, places, mask)
    encoded = encoder(functional.embedding(places, vectors), mask)
    torch.testing.assert_close(read[mask], encoded[mask], rtol=1e-12, atol=1e-12)
    found = torch.autograd.grad((read * direction).sum(), weights)
    expected = torch.autograd.grad((encoded * direction).sum(), weights)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def test_the_lstm_is_pytorchs_own_on_packed_texts():
    torch.manual_seed(0)
    encoder = RecurrentEncoder(5, 3, nn.LSTM).double()
    vectors, places, mask = texts([6, 2, 5, 1], 4)
    expected = packed(encoder, functional.embedding(places, vectors), mask)
    torch.testing.assert_close(encoder.read(vectors, places, mask)[mask], expected[mask], rtol=1e-12, atol=1e-12)


def test_padding_is_not_read_wherever_it_stands():
    """Behind every text, and in the place of a whole one."""
    torch.manual_seed(0)
    encoder = RecurrentEncoder(5, 3, nn.LSTM).double()
    vectors, places, mask = texts([2, 4, 1], 4)
    wider = [functional.pad(part, (0, 3, 0, 1)) for part in (places, mask)]
    weights = [vectors.requires_grad_(), *encoder.parameters()]
    alone, padded = encoder.read(vectors, places, mask), encoder.read(vectors, *wider)
    torch.testing.assert_close(padded[:3, :4], alone, rtol=1e-12, atol=1e-12)
    assert not padded[~wider[1]].any()
    slopes = [torch.autograd.grad(states.sin().sum(), weights) for states in (alone, padded)]
    torch.testing.assert_close(slopes[1], slopes[0], rtol=1e-10, atol=1e-12)


def test_without_slopes_the_states_are_the_same_and_nothing_is_kept():
    torch.manual_seed(0)
    encoder = RecurrentEncoder(5, 3, nn.LSTM)
    vectors, places, mask = texts([4, 3], 4)
    with torch.no_grad():
        alone = encoder.read(vectors.float(), places, mask)
    assert alone.grad_fn is None
    torch.testing.assert_close(alone, encoder.read(vectors.float(), places, mask))


def test_only_the_slopes_that_are_asked_for():
    """A frozen encoder under a trained embedding, and the reverse."""
    torch.manual_seed(0)
    encoder = RecurrentEncoder(5, 3, nn.LSTM).double()
    vectors, places, mask = texts([4, 3], 4)
    encoder.requires_grad_(False)
    (slope,) = torch.autograd.grad(encoder.read(vectors.requires_grad_(), places, mask).sum(), [vectors])
    assert slope.abs().sum() > 0
    encoder.requires_grad_(True)
    encoder.read(vectors.detach(), places, mask)[mask].sum().backward()
    assert all(weight.grad is not None for weight in encoder.parameters())


@pytest.mark.parametrize("many", [0, 1, 2])
@pytest.mark.parametrize("longest", [0, 2])
def test_texts_without_words_have_no_slope(many, longest):
    encoder = RecurrentEncoder(5, 3, nn.LSTM).double()
    mask = torch.zeros(many, longest, dtype=torch.bool)
    found = encoder.read(torch.randn(4, 5).double(), mask.long(), mask)
    assert found.shape == (many, longest, 6)
    assert not found.any()
    found.sum().backward()
    assert not any(weight.grad.any() for weight in encoder.parameters())


def test_mirroring_twice_is_not_to_mirror():
    mask = torch.tensor([[True, True, True, False], [True, False, False, False]])
    mirror = mirrored(mask)
    assert mirror.tolist() == [[2, 1, 0, 3], [0, 1, 2, 3]]
    assert mirror.gather(1, mirror).tolist() == [[0, 1, 2, 3]] * 2
