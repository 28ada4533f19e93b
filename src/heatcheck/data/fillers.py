"""Words that tell nothing, for the places of mock texts that are not planted: any number, always in the same order.

1. "something", the paper's one.  2. 199 everyday words without polarity, in neither VADER's nor Hu & Liu's lists; they
have pretrained vectors like the planted words.  3. Made words of three syllables, for which models start from random
vectors; those are longer than our packaged ones, so that such fillers are loud until a model has learned them.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain, count, islice

SOMETHING = "something"
_EVERYDAY = """
the and of to in it that was for on as with they at this from or by what we out other were all there when up how each
which their time will way about many then them so these her long thing him two more day people over water than first
who down side now any part place where after back only year every our under name through line before same also three
air home large land here such men house picture again animal point mother world near earth father head own page
country school plant food sun four between state eye city tree farm story sea night life few open next white children
group music those both letter until mile river car feet second book science room fish mountain once base horse color
face wood main table chair window door street corner bottle pencil carpet ceiling kitchen garden bridge engine wheel
metal stone brick cloth cotton leather paper copper circle square triangle metre kilogram litre north south east west
monday tuesday wednesday thursday friday saturday sunday january february april june july august september october
november december five six seven eight nine ten eleven twelve thirty hundred thousand
"""
NEUTRAL = tuple(_EVERYDAY.split())
_SYLLABLES = [consonant + vowel for consonant in "bdfghjklmnprstvwz" for vowel in "aiou"]  # no e: "remote" is a word
_STEP = 194_329  # has no divisor in common with the number of made words, so that none comes twice


def fillers(n: int, taken: Collection[str]) -> list[str]:
    """The first n words that are not taken.

    >>> fillers(4, {"something", "of"})
    ['the', 'and', 'to', 'in']
    """
    words = chain([SOMETHING], NEUTRAL, map(made_word, count()))
    return list(islice((word for word in words if word not in taken), n))


def made_word(number: int) -> str:
    """Neighbours do not look alike.

    >>> [made_word(number) for number in range(4)]
    ['bababa', 'pobiti', 'habuno', 'vodiju']
    """
    size = len(_SYLLABLES)
    place = number * _STEP % size**3
    return _SYLLABLES[place // size**2] + _SYLLABLES[place // size % size] + _SYLLABLES[place % size]
