"""The numbers that Neely et al. 2022 print: tables 1 to 4 and 9, and figure 1's two. tests/ compares with the text."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

# The order of the tables' rows and columns. "attention" is rollout for DistilBERT and the weights for the BiLSTM.
METHODS = ("attention", "lime", "integrated_gradients", "deep_lift", "gradient_shap", "deep_shap")
PAIRS = tuple(combinations(METHODS, 2))
SINGLE, PAIR = ("imdb", "sst"), ("mnli", "quora", "snli")

Taus = Mapping[tuple[str, str], float]


def _taus(*printed: float) -> Taus:
    """The upper triangle, row by row."""
    return dict(zip(PAIRS, printed, strict=True))


# Table 1: mean Kendall τ, DistilBERT.
TABLE_1: dict[str, Taus] = {
    "imdb": _taus(
        *(0.1259, 0.1818, 0.2516, 0.1432, 0.2303),
        *(0.1050, 0.0696, 0.0929, 0.0655),
        *(0.1433, 0.5495, 0.1246),
        *(0.1306, 0.4830, 0.1093),
    ),
    "sst": _taus(
        *(0.1359, 0.0511, 0.1328, 0.0737, 0.1291),
        *(0.2861, 0.0618, 0.2414, 0.0499),
        *(0.0498, 0.4987, 0.0381),
        *(0.0522, 0.4514, 0.0419),
    ),
    "mnli": _taus(
        *(0.2678, 0.1891, 0.2432, 0.1905, 0.2067),
        *(0.1794, 0.1526, 0.1592, 0.1205),
        *(0.2153, 0.4780, 0.1708),
        *(0.2324, 0.4985, 0.1752),
    ),
    "quora": _taus(
        *(0.1622, 0.0574, 0.2267, 0.0518, 0.2257),
        *(0.1407, 0.0032, 0.1144, 0.0095),
        *(0.0625, 0.4674, 0.0529),
        *(0.0637, 0.5951, 0.0535),
    ),
    "snli": _taus(
        *(0.1434, 0.1645, 0.2214, 0.1600, 0.1796),
        *(0.1529, 0.0925, 0.1104, 0.0593),
        *(0.0955, 0.3932, 0.0700),
        *(0.1181, 0.5554, 0.0851),
    ),
}

# Table 2: the same, BiLSTM.
TABLE_2: dict[str, Taus] = {
    "imdb": _taus(
        *(0.2014, 0.2188, 0.2494, 0.2209, 0.2309),
        *(0.6538, 0.5854, 0.6486, 0.5584),
        *(0.7331, 0.9409, 0.6994),
        *(0.7378, 0.8593, 0.7021),
    ),
    "sst": _taus(
        *(0.1326, 0.1093, 0.1372, 0.1101, 0.1400),
        *(0.4968, 0.4734, 0.4962, 0.4422),
        *(0.8683, 0.9707, 0.8063),
        *(0.8682, 0.8729, 0.8056),
    ),
    "mnli": _taus(
        *(0.1958, 0.2523, 0.2549, 0.2473, 0.2370),
        *(0.3281, 0.2444, 0.3187, 0.2269),
        *(0.4984, 0.8138, 0.4021),
        *(0.4987, 0.6208, 0.4015),
    ),
    "quora": _taus(
        *(0.0363, 0.0143, 0.0894, 0.0182, 0.1017),
        *(0.2099, 0.1900, 0.2037, 0.1670),
        *(0.2906, 0.7420, 0.2290),
        *(0.3158, 0.6179, 0.2433),
    ),
    "snli": _taus(
        *(0.2198, 0.2566, 0.3158, 0.2517, 0.2938),
        *(0.2673, 0.1676, 0.2481, 0.1566),
        *(0.2461, 0.6535, 0.2165),
        *(0.2557, 0.5791, 0.2219),
    ),
}
TAUS = {"minilm": TABLE_1, "bilstm": TABLE_2}


class Accuracy(NamedTuple):
    mean: float
    std: float


# Table 3: test accuracy, by data set, model (DistilBERT is where our MiniLM is) and attention.
TABLE_3: dict[tuple[str, str, str], Accuracy] = {
    ("mnli", "bilstm", "uniform"): Accuracy(0.659, 0.001),
    ("mnli", "bilstm", "softmax"): Accuracy(0.667, 0.004),
    ("mnli", "minilm", "uniform"): Accuracy(0.599, 0.002),
    ("mnli", "minilm", "softmax"): Accuracy(0.779, 0.002),
    ("quora", "bilstm", "uniform"): Accuracy(0.829, 0.001),
    ("quora", "bilstm", "softmax"): Accuracy(0.830, 0.001),
    ("quora", "minilm", "uniform"): Accuracy(0.832, 0.001),
    ("quora", "minilm", "softmax"): Accuracy(0.888, 0.001),
    ("snli", "bilstm", "uniform"): Accuracy(0.804, 0.004),
    ("snli", "bilstm", "softmax"): Accuracy(0.807, 0.002),
    ("snli", "minilm", "uniform"): Accuracy(0.770, 0.005),
    ("snli", "minilm", "softmax"): Accuracy(0.871, 0.001),
    ("imdb", "bilstm", "uniform"): Accuracy(0.874, 0.011),
    ("imdb", "bilstm", "softmax"): Accuracy(0.872, 0.014),
    ("imdb", "minilm", "uniform"): Accuracy(0.879, 0.003),
    ("imdb", "minilm", "softmax"): Accuracy(0.890, 0.005),
    ("sst", "bilstm", "uniform"): Accuracy(0.823, 0.008),
    ("sst", "bilstm", "softmax"): Accuracy(0.826, 0.011),
    ("sst", "minilm", "uniform"): Accuracy(0.823, 0.004),
    ("sst", "minilm", "softmax"): Accuracy(0.842, 0.003),
}

# Table 4: attention flow with each attribution, DistilBERT. IMDb was unfeasible.
TABLE_4: dict[str, tuple[float, ...]] = {
    "mnli": (0.1326, 0.1251, 0.2159, 0.1227, 0.2148),
    "quora": (0.0853, 0.2426, 0.0367, 0.0241, 0.2319),
    "snli": (0.0844, 0.0753, 0.2178, 0.0571, 0.2149),
    "sst": (0.1795, 0.0689, 0.1286, 0.0811, 0.1202),
}

# Table 9: validation accuracy in percent, softmax attention.
TABLE_9: dict[tuple[str, str], Accuracy] = {
    ("mnli", "bilstm"): Accuracy(67.088, 0.190),
    ("mnli", "minilm"): Accuracy(77.338, 0.251),
    ("quora", "bilstm"): Accuracy(83.232, 0.139),
    ("quora", "minilm"): Accuracy(88.801, 0.055),
    ("snli", "bilstm"): Accuracy(81.535, 0.041),
    ("snli", "minilm"): Accuracy(87.679, 0.075),
    ("imdb", "bilstm"): Accuracy(87.975, 1.375),
    ("imdb", "minilm"): Accuracy(88.587, 0.489),
    ("sst", "bilstm"): Accuracy(80.696, 0.403),
    ("sst", "minilm"): Accuracy(83.066, 0.692),
}

# Figure 1: mean τ over all methods of two texts, DistilBERT: one of SST-2, one of MNLI.
FIGURE_1 = {"sst": 0.01, "mnli": 0.05}
