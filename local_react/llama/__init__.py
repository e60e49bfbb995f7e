"""The machine: model files, weights, tokens, decoding, sampling.

Only this package imports llama_cpp. It knows token ids, bytes and logits, and no label and no tool: what a text means
is the business of `local_react.language`, which this package doesn't know.
"""
