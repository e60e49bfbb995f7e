"""The hub: model files fetched by the names of the registry, checked, and removed again.

Knows the network and huggingface-hub's cache, and nothing of runs, tools or labels.
"""
