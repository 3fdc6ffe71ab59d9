"""Where a skip or an expected failure comes from, and which word it ends as. Imports neither torch nor pytest."""
