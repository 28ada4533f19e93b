"""heatcheck against the papers' procedures written plainly, side by side in one run: `python -m benchmarks`."""
