"""Where examples come from. `load(source, ...)` is the one door; see heatcheck.data.sources."""
