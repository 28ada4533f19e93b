"""What the tests that train have in common: the models they need, as jobs, and what is computed from several models."""
