"""Pure functions on numbers: distances between distributions, rank correlations, intervals."""
