"""What others read or write of the same steps, each in a file of its own.

A reader's file has NAME, PACKAGE (None where it needs none), `load()`, which gives a function from a completion to a
`Reading` and raises ModuleNotFoundError where the package isn't there, and `write(thought, name, argument)`, a step in the
layout that the reader is made for. `requirements.txt` names the packages; they want an environment of their own.
"""
