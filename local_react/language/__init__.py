"""The step language: text on one side, values on the other.

No model, no I/O, no callables live here; everything can be tested with strings alone.
"""
