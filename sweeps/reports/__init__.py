"""What runs say of models: one definition of every number, for commands and pages. No torch, no transformers."""
