"""The one exception that users see as a sentence instead of a traceback, and what it quotes of others."""

import re


class InputError(Exception):
    """Something the user gave cannot be used: says what is wrong, where, and what to do."""


def first_line(error: Exception) -> str:
    """
    >>> first_line(AssertionError())
    'AssertionError'
    """
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def first_sentence(error: Exception) -> str:
    """
    >>> first_sentence(ImportError("This needs e.g. foo. Install it."))
    'This needs e.g. foo'
    """
    return re.split(r"\.\s+(?=[A-Z])", first_line(error))[0].rstrip(".")
