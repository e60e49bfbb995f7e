"""The benchmarks: what a constraint is worth, measured on tasks whose answers are known."""
