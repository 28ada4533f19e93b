"""The papers' data sets, read from a folder that the user fills (--data-dir): one file per data set, one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from heatcheck.data.dataset import Dataset
from heatcheck.data.recipes.adr import adr
from heatcheck.data.recipes.agnews import agnews
from heatcheck.data.recipes.babi import babi_1, babi_2, babi_3
from heatcheck.data.recipes.cnn import cnn
from heatcheck.data.recipes.imdb import imdb_240, imdb_paper
from heatcheck.data.recipes.mimic import mimic_anemia, mimic_diabetes
from heatcheck.data.recipes.mrpc import mrpc
from heatcheck.data.recipes.newsgroups import newsgroups
from heatcheck.data.recipes.snli import snli
from heatcheck.data.recipes.sst import sst, sst_full


@dataclass(frozen=True)
class Recipe:
    """`load(data_dir, seed)`; the seed matters only where a split has to be made."""

    about: str
    load: Callable[[Path, int], Dataset]


RECIPES: dict[str, Recipe] = {
    "sst": Recipe("Stanford Sentiment Treebank, two classes, paper 1's 6355/821/1725 sentences", sst),
    "sst-full": Recipe("the same, all 6920/872/1821 sentences, as paper 3 used it", sst_full),
    "imdb-paper": Recipe("IMDB reviews, paper 1's split of 17212/4304/4363", imdb_paper),
    "imdb-240": Recipe("the same, reviews of up to 240 words, as paper 5 used it", imdb_240),
    "agnews": Recipe("AG News, world or business", agnews),
    "babi-1": Recipe("bAbI task 1, questions on one supporting fact", babi_1),
    "babi-2": Recipe("bAbI task 2, questions on two supporting facts", babi_2),
    "babi-3": Recipe("bAbI task 3, questions on three supporting facts", babi_3),
    "snli": Recipe("premise and hypothesis: neutral, contradiction or entailment", snli),
    "mrpc": Recipe("two sentences of news: the same said twice, or not", mrpc),
    "adr": Recipe("tweets that mention an adverse drug reaction, or not", adr),
    "20news-sports": Recipe("20 Newsgroups, baseball or hockey", newsgroups),
    "mimic-diabetes": Recipe("MIMIC-III discharge summaries, diabetes or not", mimic_diabetes),
    "mimic-anemia": Recipe("MIMIC-III discharge summaries, acute or chronic anemia", mimic_anemia),
    "cnn": Recipe("CNN articles, which entity fills the gap", cnn),
}
