"""The numbers that Jain & Wallace 2019 print, for the data sets that are reproduced."""

from __future__ import annotations

from typing import NamedTuple

# Table 1: F1 (classification), accuracy (question answering), micro-F1 (inference), all with a BiLSTM.
TABLE_1 = {
    "sst": 0.81,
    "imdb-paper": 0.88,
    "agnews": 0.96,
    "babi-1": 1.0,
    "babi-2": 0.65,
    "babi-3": 0.64,
    "snli": 0.78,
}


class Correlation(NamedTuple):
    mean: float
    std: float
    significant: float


class Row(NamedTuple):
    gradient: Correlation
    gradient_average: Correlation
    loo: Correlation


def _row(*numbers: float) -> Row:
    return Row(Correlation(*numbers[:3]), Correlation(*numbers[3:6]), Correlation(*numbers[6:]))


# Table 2, by data set and class: τ_g (BiLSTM), τ_g (average), τ_loo (BiLSTM), each mean, std, significant fraction.
TABLE_2 = {
    ("sst", 0): _row(0.34, 0.21, 0.48, 0.61, 0.20, 0.87, 0.27, 0.19, 0.33),
    ("sst", 1): _row(0.36, 0.21, 0.49, 0.60, 0.21, 0.83, 0.32, 0.19, 0.40),
    ("imdb-paper", 0): _row(0.44, 0.06, 1.00, 0.67, 0.05, 1.00, 0.34, 0.07, 1.00),
    ("imdb-paper", 1): _row(0.43, 0.06, 1.00, 0.68, 0.05, 1.00, 0.34, 0.07, 0.99),
    ("agnews", 0): _row(0.36, 0.13, 0.82, 0.78, 0.07, 1.00, 0.30, 0.13, 0.69),
    ("agnews", 1): _row(0.42, 0.13, 0.90, 0.76, 0.07, 1.00, 0.43, 0.14, 0.91),
    ("babi-1", 0): _row(0.25, 0.16, 0.55, 0.72, 0.12, 0.99, 0.16, 0.14, 0.28),
    ("babi-2", 0): _row(-0.02, 0.14, 0.27, 0.68, 0.06, 1.00, -0.01, 0.13, 0.27),
    ("babi-3", 0): _row(0.24, 0.11, 0.87, 0.61, 0.13, 1.00, 0.26, 0.10, 0.89),
    ("snli", 0): _row(0.31, 0.23, 0.36, 0.59, 0.18, 0.80, 0.16, 0.26, 0.20),
    ("snli", 1): _row(0.33, 0.21, 0.38, 0.58, 0.19, 0.80, 0.36, 0.19, 0.44),
    ("snli", 2): _row(0.31, 0.21, 0.36, 0.57, 0.19, 0.80, 0.34, 0.20, 0.40),
}
