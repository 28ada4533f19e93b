"""Offsets and words of the tokenizers in use, made here by transformers' own classes with a small vocabulary each."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    AlbertTokenizer,
    BertTokenizer,
    GPT2Tokenizer,
    LlamaTokenizer,
    PreTrainedTokenizerFast,
    RobertaTokenizer,
    XLMRobertaTokenizer,
    XLNetTokenizer,
)

from heatcheck.batch import PAIR, TEXT, Example
from heatcheck.data.reading import Column
from heatcheck.models.tokens import PretrainedTokens

TEXTS = {
    "latin": "The film wasn't dull, no.",
    "composed": "Café déjà vu, naïve",
    "decomposed": unicodedata.normalize("NFD", "Café déjà vu, naïve"),
    "emoji": "good 🎬 film 🎬🎤 x🎬y",
    "emoji of several": "a 👩\u200d🎤 film",
    "japanese": "映画は good 映画です",
    "chinese": "电影很好。",
    "thai": "หนังดีมาก",
    "arabic": "فيلم رائع film",
    "hebrew with points": "סֵפֶר טוֹב",
    "arabic with vowels": "مُحَمَّد كتاب",
    "hindi": "हिन्दी अच्छी",
    "joined": "act\u0301ing sad\u200dly naïvete\u0301",
    "spaces": "  a  dull\t\n film  ",
    "one letter for two": "ﬁlm ½ dull",
    "longer in lower case": "İstanbul film",
}
WORDS = ["film", "dull", "good", "映画", "the"]
MARKS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<cls>", "<sep>"]
MERGES = [
    *(("f", "i"), ("fi", "l"), ("fil", "m"), ("d", "u"), ("du", "l"), ("dul", "l")),
    *(("Ġ", "film"), ("Ġ", "dull"), ("ð", "Ł"), ("Ġ", "ðŁ")),  # GPT-2's own: a space with half of an emoji
]
MERGES_OF_LLAMA = [*MERGES[:6], ("▁", "film"), ("▁", "dull"), ("▁", "▁")]


def unaccented(text: str, form: str = "NFKD", dropped: tuple[str, ...] = ("Mn", "Mc", "Me")) -> str:
    """What XLNet and ALBERT read of it."""
    apart = unicodedata.normalize(form, text.lower())
    return "".join(c for c in apart if unicodedata.category(c) not in dropped)


def berts(text: str) -> str:
    """BERT leaves the letters together that stand for two, keeps vowel signs that take room, and drops joiners."""
    return unaccented(text, "NFD", ("Mn", "Cf"))


def letters() -> list[str]:
    """All that the texts are made of, as any of the tokenizers reads them; emoji are known to none."""
    read = "".join(text + unaccented(text) + unicodedata.normalize("NFD", text) for text in TEXTS.values())
    return sorted({c for c in read if not c.isspace() and c < "\U0001f000"})


def numbered(*tokens: str) -> dict[str, int]:
    return {token: i for i, token in enumerate(dict.fromkeys(tokens))}


def unigrams(marks: Sequence[str] = MARKS) -> list[tuple[str, float]]:
    words = [*WORDS, *(f"▁{word}" for word in WORDS)]
    scored = {"▁": -3.0, **dict.fromkeys(letters(), -5.0), **dict.fromkeys(words, -1.0)}
    return [*((mark, 0.0) for mark in marks), *scored.items()]


def byte_level(*marks: str) -> dict[str, int]:
    return numbered(*marks, *sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in MERGES))


def with_byte_fallback() -> dict[str, int]:
    merged = ("".join(pair) for pair in MERGES_OF_LLAMA)
    return numbered("<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), "▁", *letters(), *merged)


def llama_2() -> Any:
    """As its tokenizer.json has it: spaces are marked before anything is split, and nothing is."""
    made = Tokenizer(models.BPE(with_byte_fallback(), MERGES_OF_LLAMA, fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


def bert() -> Any:
    marks = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    pieces = ("##ull", *(f"##{c}" for c in letters()))
    return BertTokenizer(numbered(*marks, "film", "good", "the", *letters(), *pieces))


def roberta() -> Any:
    return RobertaTokenizer(byte_level("<s>", "<pad>", "</s>", "<unk>", "<mask>"), MERGES)


def albert() -> Any:
    marks = ("<pad>", "<unk>", "<cls>", "<sep>", "<mask>")
    return AlbertTokenizer(unigrams(marks), cls_token="<cls>", sep_token="<sep>", mask_token="<mask>")


@dataclass(frozen=True)
class Kind:
    make: Callable[[], Any]
    reads: Callable[[str], str] = str  # what it makes of a text before it splits it


KINDS = {
    "bert": Kind(bert, berts),
    "gpt2": Kind(lambda: GPT2Tokenizer(byte_level("<|endoftext|>"), MERGES)),
    "roberta": Kind(roberta),
    "xlnet": Kind(lambda: XLNetTokenizer(unigrams(), unk_id=3, do_lower_case=True), unaccented),
    "albert": Kind(albert, unaccented),
    "xlm-roberta": Kind(lambda: XLMRobertaTokenizer(unigrams())),
    "llama": Kind(lambda: LlamaTokenizer(with_byte_fallback(), MERGES_OF_LLAMA)),
    "llama 2": Kind(llama_2),
}
BYTES = ("gpt2", "roberta", "llama", "llama 2")  # know every emoji, in pieces


@functools.cache
def tokenizer(kind: str) -> Any:
    return KINDS[kind].make()


@dataclass(frozen=True)
class Piece:
    token: str
    start: int
    end: int
    word: int


def pieces(kind: str, text: str, pair: str | None = None, segment: int = TEXT) -> list[Piece]:
    """The tokens of one text, without marks."""
    columns = PretrainedTokens(tokenizer(kind), 2, None).row(Example("x", text, 0, pair)).columns
    names = tokenizer(kind).convert_ids_to_tokens(columns[Column.ID].tolist())
    chosen = (columns[Column.SPECIAL] == 0) & (columns[Column.SEGMENT] == segment)
    wanted = columns[[Column.START, Column.END, Column.WORD]].T.tolist()
    return [Piece(name, *where) for name, where, yes in zip(names, wanted, chosen, strict=True) if yes]


def groups(found: list[Piece]) -> list[list[Piece]]:
    """Tokens that share a character: pieces of one emoji, or of one letter that is read as two."""
    made: list[list[Piece]] = []
    for piece in found:
        if made and piece.start < max(p.end for p in made[-1]) and piece.end > piece.start:
            made[-1].append(piece)
        else:
            made.append([piece])
    return made


def spelt(kind: str, group: list[Piece]) -> str:
    tokens = [piece.token.removeprefix("##") for piece in group]
    return "".join(tokenizer(kind).backend_tokenizer.decoder.decode(tokens).split())


def check_places(kind: str, found: list[Piece], text: str) -> None:
    """Each token stands where its characters are, in order, and together they are the text."""
    reads, unknown = KINDS[kind].reads, tokenizer(kind).unk_token
    assert all(0 <= piece.start <= piece.end <= len(text) for piece in found)
    assert [p.start for p in found] == sorted(p.start for p in found)
    assert [p.end for p in found] == sorted(p.end for p in found)
    for group in groups(found):
        there = text[group[0].start : max(p.end for p in group)]
        assert there == there.strip() or there.isspace()
        if any(piece.token == unknown for piece in group):
            assert any(c >= "\U0001f000" for c in there)  # every letter is known
        else:
            assert spelt(kind, group) == "".join(reads(there).split())
    covered = {place for piece in found for place in range(piece.start, piece.end)}
    assert all(place in covered or not reads(c).strip() for place, c in enumerate(text))


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("kind", KINDS)
def test_offsets_are_the_characters_of_each_token(kind, name):
    check_places(kind, pieces(kind, TEXTS[name]), TEXTS[name])


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("kind", KINDS)
def test_both_texts_of_a_pair_have_their_own_places_and_words(kind, name):
    text, pair = "a dull film", TEXTS[name]
    check_places(kind, pieces(kind, text, pair, TEXT), text)
    check_places(kind, pieces(kind, text, pair, PAIR), pair)
    assert pieces(kind, text, pair, TEXT) == pieces(kind, text)
    assert words(kind, text, pair, PAIR) == words(kind, pair)


@pytest.mark.parametrize("kind", KINDS)
def test_marks_belong_to_the_text_in_front_of_them_and_to_no_word(kind):
    columns = PretrainedTokens(tokenizer(kind), 2, None).row(Example("x", "a film", 0, "dull")).columns
    segments, special = columns[Column.SEGMENT].tolist(), columns[Column.SPECIAL] == 1
    assert segments == sorted(segments)
    assert (columns[Column.WORD][special] == -1).all()
    assert (columns[Column.WORD][~special] >= 0).all()
    assert (columns[[Column.START, Column.END]][:, special] == 0).all()


def words(kind: str, text: str, pair: str | None = None, segment: int = TEXT) -> list[str]:
    """As they stand in the text; spaces that a tokenizer has tokens for left out."""
    found = pieces(kind, text, pair, segment)
    read = text if segment == TEXT else pair
    assert read is not None
    numbers = [piece.word for piece in found]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(len(set(numbers))))
    each = [[piece for piece in found if piece.word == number] for number in dict.fromkeys(numbers)]
    spans = [read[group[0].start : max(p.end for p in group)].strip() for group in each]
    return [span for span in spans if span]


@pytest.mark.parametrize("name", ["hebrew with points", "arabic with vowels", "hindi", "joined", "arabic"])
@pytest.mark.parametrize("kind", KINDS)
def test_accents_and_vowel_signs_part_no_word_and_none_is_lost(kind, name):
    assert words(kind, TEXTS[name]) == TEXTS[name].split()


@pytest.mark.parametrize("text", ["a dull film", "  a  dull   film "])
@pytest.mark.parametrize("kind", KINDS)
def test_words_are_what_spaces_part(kind, text):
    assert words(kind, text) == ["a", "dull", "film"]
    assert len(pieces(kind, "a dulled film")) > 3  # in pieces, and still
    assert words(kind, "a dulled film") == ["a", "dulled", "film"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_emoji_is_one_word_however_many_pieces_it_has(kind):
    there = [piece for piece in pieces(kind, "🎬 film") if (piece.start, piece.end) == (0, 1)]
    assert (len(there) >= 3) == (kind in BYTES)
    assert {piece.word for piece in there} == {0}
    assert words(kind, "🎬 film") == ["🎬", "film"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_space_that_is_a_token_of_its_own_parts_words_too(kind):
    """Llama has no token for a space with an emoji."""
    assert words(kind, "good 🎬 film") == ["good", "🎬", "film"]
    assert words(kind, "a good film") == ["a", "good", "film"]


@pytest.mark.parametrize("kind", ["xlnet", "albert", "xlm-roberta"])
def test_each_token_that_begins_with_a_letter_of_a_script_without_spaces_is_a_word(kind):
    assert [p.token for p in pieces(kind, "映画は映画")] == ["▁映画", "は", "映画"]
    assert words(kind, "映画は映画") == ["映画", "は", "映画"]
    assert words(kind, "a 映画film dull") == ["a", "映画film", "dull"]


@pytest.mark.parametrize("kind", BYTES)
def test_bytes_of_one_letter_are_one_word_and_the_next_letter_is_another(kind):
    assert words(kind, "电影 film") == ["电", "影", "film"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["ดี film", "か\u3099 film"], ids=["thai vowel", "voiced kana"])
def test_a_mark_on_a_letter_begins_no_word(kind, text):
    assert words(kind, text) == [text.split()[0], "film"]
