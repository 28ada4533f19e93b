"""The one exception that users see as a sentence instead of a traceback."""


class InputError(Exception):
    """Something the user gave cannot be used: says what is wrong, where, and what to do."""
