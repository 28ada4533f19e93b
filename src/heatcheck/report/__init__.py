"""The report: one HTML file made from a run's tables, without torch and without a network."""

from heatcheck.report.page import render, write

__all__ = ["render", "write"]
