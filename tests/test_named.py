from __future__ import annotations

import pytest

from heatcheck.errors import InputError
from heatcheck.named import check_settings, name_and_settings


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lime", ("lime", {})),
        (" lime ( ) ", ("lime", {})),
        ("mock-1q(place='a)b', noise=.5,)", ("mock-1q", {"place": "a)b", "noise": 0.5})),
        ("m(x=-1, y=None, z=(1, 2))", ("m", {"x": -1, "y": None, "z": (1, 2)})),
    ],
)
def test_what_is_understood(text, found):
    assert name_and_settings(text, "It") == found


@pytest.mark.parametrize(
    "text",
    ["", "a b", "a(", "a)", "a(1)", "a(x)", "a(x=y)", "a(x=1, x=2)", "a(**{'x': 1})", "a(x=1)(y=2)", "a(x=1).b(y=2)",
     "a(x=1) or f(y=2)", "a(x=open('f'))", "a(x={[]: 1})", "a(x=\0)", "a(x=" + "[" * 5000 + ")", "a.b(x=1)"],
)  # fmt: skip
def test_what_is_not(text):
    with pytest.raises(InputError, match=r"^It is not of the form name or name\(setting=value, ...\)\.$"):
        name_and_settings(text, "It")


def test_settings_are_of_the_kind_of_their_defaults():
    known = {"n": 1, "part": 0.5, "name": "a", "yes": False, "any": None}
    check_settings({"n": 3, "part": 1, "name": "", "yes": True, "any": "x"}, known, "It")
    for changes, sentence in {
        ("n", 1.5): "It: n is 1.5, which is no int.",
        ("n", True): "It: n is True, which is no int.",
        ("part", False): "It: part is False, which is no float.",
        ("yes", 1): "It: yes is 1, which is no bool.",
        ("name", 3): "It: name is 3, which is no str.",
        ("m", 3): "It: there is no setting 'm'. It has: n, part, name, yes, any.",
    }.items():
        with pytest.raises(InputError) as error:
            check_settings(dict([changes]), known, "It")
        assert str(error.value) == sentence
