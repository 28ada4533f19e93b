"""Three ways to find an attention far from the model's own that keeps its output."""
