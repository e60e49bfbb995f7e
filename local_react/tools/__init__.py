"""Tools: what the model may call, made from Python functions or JSON Schemas, and the one place that runs user code.

Import `Tool` and `tool` from `tool.py`, `Toolbox` from `toolbox.py`.
"""
