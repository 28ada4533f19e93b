"""Tiny, randomly initialised Hugging Face checkpoints of every family, made on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast

from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.pretrained import TransformerSpec, load_pretrained
from heatcheck.models.subject import Subject
from tests.toys import WORDS

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = ["good", "bad", "film", "##s", "##ing", "act", "fun", "not", "the", "a", ".", ",", "##ly", "sad", "映", "画"]
VOCABULARY = (
    MARKS + PIECES + WORDS + [f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"] + list("abcdefghijklmnopqrstuvwxyz")
)
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 37}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertConfig", SIZES),
    "distilbert": ("DistilBertConfig", {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 37}),
    "roberta": ("RobertaConfig", SIZES),
    "electra": ("ElectraConfig", {**SIZES, "embedding_size": 16}),
    "deberta": (
        "DebertaV2Config",
        {
            **SIZES,
            "relative_attention": True,
            "position_buckets": 8,
            "pos_att_type": ["p2c", "c2p"],
            "type_vocab_size": 0,
        },
    ),
    "albert": ("AlbertConfig", {**SIZES, "embedding_size": 16}),
    "xlnet": ("XLNetConfig", {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 37}),
    "gpt2": ("GPT2Config", {"n_embd": 32, "n_layer": 2, "n_head": 2, "bos_token_id": 2, "eos_token_id": 3}),
    "llama": ("LlamaConfig", {**SIZES, "num_key_value_heads": 1, "bos_token_id": 2, "eos_token_id": 3}),
}
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {  # whose attention is no map, or that few tests need
    "longformer": ("LongformerConfig", {**SIZES, "attention_window": 4}),
    "mpnet": ("MPNetConfig", SIZES),
}
OF_BART = {
    **{"d_model": 32, "max_position_embeddings": 64, "scale_embedding": True, "eos_token_id": 3},
    **{f"{half}_{name}": n for half in ("encoder", "decoder") for name, n in (("layers", 2), ("ffn_dim", 37))},
    **{"encoder_attention_heads": 2, "decoder_attention_heads": 2},
}
ENCODER_DECODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bart": ("BartConfig", {**OF_BART, "decoder_start_token_id": 3}),
    "mbart": ("MBartConfig", OF_BART),
    "t5": (
        "T5Config",
        {"d_model": 32, "d_kv": 16, "d_ff": 37, "num_layers": 2, "num_heads": 2}
        | {"eos_token_id": 3, "decoder_start_token_id": 0, "initializer_factor": 0.2},
    ),
}
UNPADDED: dict[str, tuple[str, dict[str, Any]]] = {  # padding would change what they say
    "convbert": ("ConvBertConfig", {**SIZES, "embedding_size": 32}),
    "fnet": ("FNetConfig", {name: size for name, size in SIZES.items() if name != "num_attention_heads"}),
}
OF_REFORMER = {
    **{"hidden_size": 32, "attention_head_size": 16, "num_attention_heads": 2, "feed_forward_size": 37},
    **{"attn_layers": ["local", "lsh"], "local_attn_chunk_length": 4, "lsh_attn_chunk_length": 4, "num_buckets": 2},
    **{"axial_pos_embds": False, "max_position_embeddings": 64, "eos_token_id": 3, "is_decoder": False},
}
BY_IDS: dict[str, tuple[str, dict[str, Any]]] = {  # cannot be entered at their embeddings
    "ibert": ("IBertConfig", SIZES),
    "esm": ("EsmConfig", {**SIZES, "mask_token_id": 4, "token_dropout": True, "position_embedding_type": "rotary"}),
    "esmc": ("EsmcConfig", SIZES),
    "reformer": ("ReformerConfig", {**OF_REFORMER, "hash_seed": 0}),
    "perceiver": (
        "PerceiverConfig",
        {"num_latents": 4, "d_latents": 16, "d_model": 16, "num_blocks": 1, "num_self_attends_per_block": 2}
        | {"num_self_attention_heads": 2, "num_cross_attention_heads": 2, "max_position_embeddings": 64},
    ),
    "canine": (
        "CanineConfig",
        {**SIZES, "num_hash_buckets": 64, "num_hash_functions": 2, "bos_token_id": 2, "eos_token_id": 3},
    ),
    "layoutlmv3": ("LayoutLMv3Config", {**SIZES, "coordinate_size": 5, "shape_size": 6, "visual_embed": False}),
}
DECODERS = ("gpt2", "llama")


def tiny_tokenizer(family: str) -> Any:
    """Word pieces with the family's marks: [CLS] in front, XLNet's and mBART's behind, none for decoders."""
    words = Tokenizer(models.WordPiece({w: i for i, w in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    words.normalizer = normalizers.BertNormalizer()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    templates = {
        "xlnet": ("$A [SEP] [CLS]:2", "$A [SEP] $B:1 [SEP]:1 [CLS]:2"),
        "bart": ("[CLS] $A [SEP]", "[CLS] $A [SEP] [SEP] $B [SEP]"),
        "mbart": ("$A [SEP] [CLS]", "$A $B [SEP] [CLS]"),
        "t5": ("$A [SEP]", "$A [SEP] $B [SEP]"),
    }
    single, pair = templates.get(family, ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"))
    if family not in DECODERS:
        marks = [("[CLS]", 2), ("[SEP]", 3)]
        words.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=marks)
    inputs = ["input_ids", "attention_mask"]
    if family in ("bert", "electra", "albert", "xlnet", "canine"):
        inputs.insert(1, "token_type_ids")
    named = dict(zip(("pad", "unk", "cls", "sep", "mask"), MARKS, strict=True))
    if family in DECODERS:
        named = {"pad": "[PAD]", "unk": "[UNK]", "eos": "[SEP]"}
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        model_input_names=inputs,
        model_max_length=64,
        **{f"{name}_token": mark for name, mark in named.items()},
    )


def tiny_folder(
    folder: Path, family: str = "bert", labels: Sequence[str] = ("negative", "positive"), *, seed: int = 0, **more: Any
) -> Path:
    """A checkpoint folder as its maker would have saved it. Weights are large enough for outputs to differ."""
    name, settings = {**FAMILIES, **OTHERS, **ENCODER_DECODERS, **UNPADDED, **BY_IDS}[family]
    config = getattr(transformers, name)(
        **{**settings, "vocab_size": len(VOCABULARY), "pad_token_id": 0, **more},
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    torch.manual_seed(seed)
    network = AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for parameter_name, parameter in network.named_parameters():
            if parameter.dim() > 1 and "norm" not in parameter_name.lower():
                parameter.mul_(8)
    network.save_pretrained(folder)
    tiny_tokenizer(family).save_pretrained(folder)
    return folder


def tiny_subject(
    folder: Path, family: str = "bert", labels: Sequence[str] = ("negative", "positive"), **more: Any
) -> Subject[HuggingFaceClassifier]:
    """`more` are fields of the spec, or of the network's config."""
    spec = {name: more.pop(name) for name in list(more) if name in TransformerSpec.__dataclass_fields__}
    return load_pretrained(TransformerSpec(str(tiny_folder(folder / family, family, labels, **more)), **spec))
