"""Help says what happens: flags.py must not import torch, so that it spells defaults out."""

from typing import get_type_hints

from heatcheck.commands.flags import OwnModelFlags
from heatcheck.models.finetune import FINE_TUNING
from heatcheck.models.fit import Recipe


def test_the_help_on_epochs_names_the_recipes_own():
    (option,) = get_type_hints(OwnModelFlags, include_extras=True)["epochs"].__metadata__
    assert option.help.endswith(f"Default: {Recipe().epochs}; fine-tuning: {FINE_TUNING.epochs}.")
