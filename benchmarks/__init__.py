"""Experiments: scripts that measure local_react, and the results they gave."""
