"""The tool-call formats of the models themselves: how each spells a call, read, written and held as a language."""
