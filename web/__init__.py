"""The dashboard: pages over the store, each with a JSON twin from the same handler."""
