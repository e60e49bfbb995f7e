"""Decoding: sequences, stops and samplers turned into completions, many at once."""
