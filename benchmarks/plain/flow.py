"""Attention flow as a plain loop: one networkx maximum flow for each input token (paper 5, appendix B)."""

from __future__ import annotations

import networkx as nx
import numpy as np


def attention_flow(graph: np.ndarray, readout: int) -> np.ndarray:
    """`graph` holds layers × tokens × tokens, the first layer first; node (l, t) is token t after l layers."""
    layers, tokens, _ = graph.shape
    network = nx.DiGraph()
    network.add_nodes_from((layer, token) for layer in range(layers + 1) for token in range(tokens))
    for layer in range(layers):
        for upper in range(tokens):
            for lower in range(tokens):
                if graph[layer, upper, lower] > 0:
                    network.add_edge((layer + 1, upper), (layer, lower), capacity=float(graph[layer, upper, lower]))
    return np.array([nx.maximum_flow_value(network, (layers, readout), (0, token)) for token in range(tokens)])
