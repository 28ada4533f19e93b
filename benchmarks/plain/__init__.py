"""The peers: Jain & Wallace 2019 as the paper tells it, with its batching and settings, and no shortcut of ours.

Written from the paper's text and its published settings. Plain does not mean slow: batches of 32 texts of similar
length, packed sequences, whole-batch tensor operations wherever the procedure allows them.
"""
