"""HTML whose text is escaped by construction: a plain string can never become markup.

>>> tag("p", "a < b", tag("b", "!"), class_="note")
'<p class="note">a &lt; b<b>!</b></p>'
"""

from __future__ import annotations

import html
import json
from typing import Any


class Markup(str):
    """A string that is HTML already."""

    __slots__ = ()


# Browsers drop or replace control characters; their pictures (U+2400 and on) show that they are there.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {127: 0x2421}
# JSON inside <script> must not contain anything that HTML or old JavaScript parsers react to.
_SCRIPT_SAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def encodable(text: str) -> str:
    """Lone surrogates, which run.json can hold but UTF-8 cannot, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def escape(text: str) -> Markup:
    return Markup(html.escape(encodable(text).translate(_PICTURES)))


def tag(name: str, *children: str | None, **attributes: str | None) -> Markup:
    """An element. `class_` stands for class, `data_x` for data-x; an attribute that is None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: str | None) -> Markup:
    return Markup(
        "".join(child if isinstance(child, Markup) else escape(child) for child in children if child is not None)
    )


def script_json(content: Any) -> str:
    """JSON that can stand inside a script element whatever the texts contain."""
    written = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return encodable(written).translate(_SCRIPT_SAFE)
