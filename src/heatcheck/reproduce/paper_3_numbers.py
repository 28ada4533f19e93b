"""The numbers that Amini & Kosseim 2022 print, for the data sets that are reproduced. tests/ compares with the text.

TVD stands here as the paper prints it: of one output, ½|p − q|, half of the true one. AtteFa is of the true one.
"""

from __future__ import annotations

from typing import NamedTuple

# Table 2: F1 of the base models (the paper's own), by data set and encoder.
TABLE_2 = {
    ("mock-1", "bilstm"): 0.974,
    ("mock-1", "mlp"): 0.975,
    ("mock-2", "bilstm"): 0.988,
    ("mock-2", "mlp"): 0.989,
    ("mock-5", "bilstm"): 0.999,
    ("mock-5", "mlp"): 1.000,
    ("mock-10", "bilstm"): 1.000,
    ("mock-10", "mlp"): 0.999,
    **{(f"mock-{n}q", encoder): 1.000 for n in (1, 2, 3, 4) for encoder in ("bilstm", "mlp")},
    ("sst-full", "bilstm"): 0.830,
    ("sst-full", "mlp"): 0.816,
    ("agnews", "bilstm"): 0.959,
    ("agnews", "mlp"): 0.956,
    ("imdb-paper", "bilstm"): 0.908,
    ("imdb-paper", "mlp"): 0.882,
}


class Spread(NamedTuple):
    """Over nine seeds of the adversary."""

    mean: float
    std: float


class Row(NamedTuple):
    epoch: Spread
    f1: Spread
    printed_tvd: Spread
    jsd: Spread
    attefa: Spread

    @property
    def true_tvd(self) -> Spread:
        return Spread(2 * self.printed_tvd.mean, 2 * self.printed_tvd.std)


def _row(*numbers: float) -> Row:
    return Row(*(Spread(*numbers[i : i + 2]) for i in range(0, 10, 2)))


# Table 3: epoch, F1, TVD, JSD and AtteFa of the adversaries, each mean and standard deviation.
TABLE_3 = {
    ("mock-1", "bilstm"): _row(12, 5, 0.947, 0.020, 0.015, 0.009, 0.693, 0.000, 0.0304, 0.0176),
    ("mock-1", "mlp"): _row(20, 24, 0.221, 0.312, 0.231, 0.012, 0.393, 0.000, 0.8153, 0.0425),
    ("mock-2", "bilstm"): _row(9, 7, 0.977, 0.010, 0.016, 0.005, 0.693, 0.000, 0.0329, 0.0096),
    ("mock-2", "mlp"): _row(1, 0, 0.221, 0.312, 0.246, 0.003, 0.670, 0.000, 0.5086, 0.0064),
    ("mock-5", "bilstm"): _row(7, 5, 1.000, 0.001, 0.002, 0.000, 0.693, 0.000, 0.0037, 0.0008),
    ("mock-5", "mlp"): _row(9, 11, 0.147, 0.275, 0.247, 0.001, 0.686, 0.000, 0.4987, 0.0027),
    ("mock-10", "bilstm"): _row(14, 8, 1.000, 0.000, 0.001, 0.000, 0.693, 0.000, 0.0012, 0.0000),
    ("mock-10", "mlp"): _row(23, 31, 0.147, 0.275, 0.249, 0.001, 0.686, 0.000, 0.5028, 0.0027),
    ("mock-1q", "bilstm"): _row(23, 12, 1.000, 0.000, 0.000, 0.000, 0.693, 0.000, 0.0006, 0.0000),
    ("mock-1q", "mlp"): _row(37, 31, 0.465, 0.480, 0.135, 0.120, 0.689, 0.001, 0.2721, 0.2407),
    ("mock-2q", "bilstm"): _row(35, 32, 1.000, 0.001, 0.000, 0.000, 0.678, 0.004, 0.0008, 0.0010),
    ("mock-2q", "mlp"): _row(42, 35, 0.751, 0.324, 0.099, 0.109, 0.691, 0.000, 0.1983, 0.2188),
    ("mock-3q", "bilstm"): _row(21, 21, 1.000, 0.000, 0.000, 0.000, 0.681, 0.008, 0.0003, 0.0001),
    ("mock-3q", "mlp"): _row(13, 13, 0.999, 0.001, 0.001, 0.001, 0.691, 0.000, 0.0013, 0.0011),
    ("mock-4q", "bilstm"): _row(8, 4, 1.000, 0.000, 0.000, 0.000, 0.680, 0.004, 0.0002, 0.0003),
    ("mock-4q", "mlp"): _row(3, 0, 1.000, 0.000, 0.000, 0.000, 0.690, 0.000, 0.0002, 0.0000),
    ("sst-full", "bilstm"): _row(21, 6, 0.823, 0.002, 0.034, 0.002, 0.626, 0.006, 0.0760, 0.0034),
    ("sst-full", "mlp"): _row(23, 15, 0.605, 0.028, 0.173, 0.001, 0.656, 0.002, 0.3645, 0.0024),
    ("agnews", "bilstm"): _row(49, 18, 0.958, 0.001, 0.007, 0.001, 0.683, 0.002, 0.0136, 0.0015),
    ("agnews", "mlp"): _row(24, 12, 0.610, 0.032, 0.172, 0.005, 0.671, 0.001, 0.3558, 0.0097),
    ("imdb-paper", "bilstm"): _row(49, 12, 0.889, 0.006, 0.038, 0.004, 0.691, 0.001, 0.0769, 0.0090),
    ("imdb-paper", "mlp"): _row(21, 14, 0.158, 0.056, 0.190, 0.001, 0.689, 0.000, 0.3826, 0.0019),
}
