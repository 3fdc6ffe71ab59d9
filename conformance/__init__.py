"""Conformance of a PyTorch accelerator backend: what ran, what was skipped and why, what changed."""

__version__ = "0.1.0"
