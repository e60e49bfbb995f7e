"""The worlds: where tasks come from, each made from a seed, with real tools and answers known beforehand."""
