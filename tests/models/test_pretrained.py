"""What cannot be audited is refused in one sentence that says what to do."""

from __future__ import annotations

import json

import pytest
import torch
import transformers

from heatcheck.batch import Example
from heatcheck.errors import InputError
from heatcheck.models.given import subject_of
from heatcheck.models.loading import is_transformer, load_subject
from heatcheck.models.pretrained import TransformerSpec
from tests.tiny import SIZES, VOCABULARY, tiny_folder, tiny_subject, tiny_tokenizer


def load(folder):
    return load_subject(TransformerSpec(str(folder)))


def change_config(folder, **changes):
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    return folder


def refused(folder, sentence):
    with pytest.raises(InputError, match=sentence):
        load(folder)


def test_a_body_without_a_head(tmp_path):
    config = transformers.BertConfig(**SIZES, vocab_size=len(VOCABULARY))
    transformers.BertModel(config).save_pretrained(tmp_path)
    tiny_tokenizer("bert").save_pretrained(tmp_path)
    refused(tmp_path, "BertModel has no head that classifies texts. Fine-tune it first: heatcheck train --model")


def test_a_head_that_is_named_but_not_there(tmp_path):
    config = transformers.BertConfig(**SIZES, vocab_size=len(VOCABULARY))
    transformers.BertModel(config).save_pretrained(tmp_path)
    tiny_tokenizer("bert").save_pretrained(tmp_path)
    change_config(tmp_path, architectures=["BertForSequenceClassification"])
    refused(tmp_path, r"no trained classification head \(classifier.bias is missing\)")


def test_a_model_that_generates(tmp_path):
    change_config(tiny_folder(tmp_path, "gpt2"), architectures=["GPT2LMHeadModel"])
    refused(tmp_path, "GPT2LMHeadModel generates text and has no labels")


def test_several_labels_at_once_and_numbers(tmp_path):
    change_config(tiny_folder(tmp_path / "a"), problem_type="multi_label_classification")
    refused(tmp_path / "a", "several labels at once")
    tiny_folder(tmp_path / "b", labels=("score",))
    refused(tmp_path / "b", "a number, not classes")


def test_pickled_weights(tmp_path):
    tiny_folder(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save({}, tmp_path / "pytorch_model.bin")
    refused(tmp_path, "holds pytorch_model.bin, a pickle, .* refused")


def test_truncated_weights(tmp_path):
    weights = tiny_folder(tmp_path) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    refused(tmp_path, "cannot be loaded as a Hugging Face model")


def test_code_of_the_models_author(tmp_path):
    tiny_folder(tmp_path)
    change_config(
        tmp_path,
        model_type="their-own",
        auto_map={"AutoConfig": "theirs.Config", "AutoModelForSequenceClassification": "theirs.Model"},
    )
    (tmp_path / "theirs.py").write_text("raise SystemExit('ran')")
    refused(tmp_path, "needs code that its author wrote.*--trust-remote-code")


def test_an_authors_own_head_on_a_known_body(tmp_path):
    """transformers would load its own head instead, and not say so."""
    change_config(tiny_folder(tmp_path), auto_map={"AutoModelForSequenceClassification": "theirs.Model"})
    refused(tmp_path, "needs code that its author wrote.*--trust-remote-code")


def test_an_authors_own_tokenizer(tmp_path):
    """transformers would take one that is like it, and not say so."""
    settings = tiny_folder(tmp_path) / "tokenizer_config.json"
    own = {"tokenizer_class": "TheirTokenizer", "auto_map": {"AutoTokenizer": ["theirs.TheirTokenizer", None]}}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **own}))
    (tmp_path / "theirs.py").write_text("raise SystemExit('ran')")
    refused(tmp_path, "needs code that its author wrote.*--trust-remote-code")


def test_a_folder_without_a_tokenizer(tmp_path):
    for file in tiny_folder(tmp_path).glob("*token*"):
        file.unlink()
    refused(tmp_path, "holds no tokenizer")


def test_a_tokenizer_without_offsets(tmp_path):
    """Of transformers' own classes that are still written in Python, this needs no other package."""
    tiny_folder(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    slow = transformers.BertJapaneseTokenizer(tmp_path / "vocab.txt", subword_tokenizer_type="character")
    assert slow.tokenize("映画 good") == ["映", "画", "g", "o", "o", "d"]
    slow.save_pretrained(tmp_path)
    refused(
        tmp_path,
        r"its tokenizer \(BertJapaneseTokenizer\) does not say which characters a token stands for\. "
        r"Save a fast tokenizer \(tokenizer\.json\) beside the model\.$",
    )


def test_a_tokenizer_that_wants_more_than_texts(tmp_path):
    """LayoutLM's wants a list of words and where each stands on a page; so does LiLT, which has the same."""
    for file in tiny_folder(tmp_path).glob("*token*"):
        file.unlink()
    words = {word: i for i, word in enumerate(["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a", "b"])}
    transformers.LayoutLMv3TokenizerFast(vocab=words, merges=[]).save_pretrained(tmp_path)
    refused(
        tmp_path,
        r"its tokenizer \(LayoutLMv3Tokenizer\) does not read plain texts \(Words must be of type .*\)\. "
        r"Save one that does beside the model, or audit it as a black box: --model python:module:function\.$",
    )


def test_a_network_that_needs_another_package_is_told_in_a_whole_sentence(tmp_path, monkeypatch):
    """transformers breaks its lines in the middle of one."""

    def without(*args, **kwargs):
        raise ImportError("\nThe model needs detectron2, which is not there. Check out the instructions on the\npage.")

    tiny_folder(tmp_path)
    monkeypatch.setattr(transformers.BertForSequenceClassification, "from_pretrained", without)
    refused(tmp_path, r"\(The model needs detectron2, which is not there\)\. Install what it needs\.$")


def test_a_folder_of_something_else_and_a_name_that_is_nowhere(tmp_path):
    refused(tmp_path, "holds neither heatcheck.json nor config.json")
    refused("nobody/nothing", "no such folder, and no model of that name can be fetched")


def test_which_loader_a_name_means(tmp_path):
    assert is_transformer(str(tiny_folder(tmp_path / "hf")))
    assert is_transformer("minilm")
    assert is_transformer("owner/name")
    assert not is_transformer("./owner/name")
    assert not is_transformer(str(tmp_path / "gone"))
    assert not is_transformer("weights.bin")


def test_labels_have_the_models_names(tmp_path):
    assert tiny_subject(tmp_path, "bert", ("<b>", 'a"b', "ü")).labels == ("<b>", 'a"b', "ü")


def loaded(tmp_path, family="bert", **names):
    """(model, tokenizer) as their owner holds them, with these names of classes."""
    network = transformers.AutoModelForSequenceClassification.from_pretrained(tiny_folder(tmp_path, family))
    network.config.id2label = names or network.config.id2label
    return network, tiny_tokenizer(family)


def test_classes_may_be_numbered_by_strings(tmp_path):
    """As JSON writes them."""
    assert subject_of(loaded(tmp_path, **{"1": "yes", "0": "no"})).labels == ("no", "yes")


@pytest.mark.parametrize("names", [{"0": "no", "2": "yes"}, {"no": "0", "yes": "1"}])
def test_a_class_without_a_name(tmp_path, names):
    with pytest.raises(
        InputError, match=r"id2label of its config does not name the classes 0 to 1: \{.*\}\. Name each"
    ):
        subject_of(loaded(tmp_path, **names))


def test_a_mask_token_needs_no_note(tmp_path):
    subject = tiny_subject(tmp_path, "bert")
    assert (subject.model.mask_id, subject.notes) == (VOCABULARY.index("[MASK]"), ())


STAND_INS = {
    "unk": "its token for unknown words ('[UNK]')",
    "pad": "its padding token ('[PAD]')",
    "eos": "its end token ('[SEP]')",
    None: "its token 0 ('[PAD]'), which the model may read as a word,",
}


@pytest.mark.parametrize("first", STAND_INS)
def test_what_stands_for_a_hidden_word_without_a_mask_token_is_said(tmp_path, first):
    names = list(STAND_INS)
    marks = {"unk": "[UNK]", "pad": "[PAD]", "eos": "[SEP]"}
    left = {f"{name}_token": marks[name] for name in names[names.index(first) :] if name}
    network, whole = loaded(tmp_path, "gpt2")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=whole.backend_tokenizer, **left)
    subject = subject_of((network, tokenizer))
    assert subject.model.mask_id == (VOCABULARY.index(marks[first]) if first else 0)
    assert subject.notes == (
        f"The model's tokenizer has no mask token: where words are masked, {STAND_INS[first]} stands in their place.",
    )


def test_classes_of_one_name_cannot_be_told_apart(tmp_path):
    refused(tiny_folder(tmp_path, "bert", ("x", "y", "x")), "two classes are called 'x'. Rename one")


def test_a_long_text_is_cut_and_says_so(tmp_path):
    subject = tiny_subject(tmp_path, max_length=10)
    row = subject.reader.row(Example("x", "good " * 50, 0))
    assert (len(row), row.cut) == (10, True)
    assert not subject.reader.row(Example("x", "good", 0)).cut


@pytest.mark.parametrize("length", [1, 2])
def test_a_length_without_room_for_a_word_is_refused(tmp_path, length):
    with pytest.raises(InputError, match=rf"--max-length {length} leaves no room for a word: .* sets 2 marks"):
        tiny_subject(tmp_path, max_length=length)
    assert tiny_subject(tmp_path, max_length=3)


def test_blocks_of_attention_do_not_depend_on_what_was_read_before(tmp_path):
    """BigBird reads long texts in blocks, until it has read a short one."""
    sizes = {**SIZES, "max_position_embeddings": 128, "vocab_size": len(VOCABULARY), "block_size": 4}
    torch.manual_seed(0)
    config = transformers.BigBirdConfig(**sizes, num_random_blocks=1, num_labels=2)
    transformers.BigBirdForSequenceClassification(config).eval().save_pretrained(tmp_path)
    tiny_tokenizer("bert").save_pretrained(tmp_path)
    subject = load(tmp_path)
    assert "reads every text with full attention" in " ".join(subject.notes)
    texts = [Example("long", "good film " * 40, 0), Example("short", "good", 0)]
    asked = [subject.model.predict(batch) for text in texts for batch in subject.batches([text], 1)]
    again = [subject.model.predict(batch) for text in texts[::-1] for batch in subject.batches([text], 1)]
    torch.testing.assert_close(torch.cat(asked), torch.cat(again[::-1]))
