"""PyTorch's test files: fetched from a repository of our own, read, listed and chosen."""
