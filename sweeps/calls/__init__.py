"""The aten calls of models: recorded while the CPU answers, replayed as the suite `model_ops`, joined with outcomes."""
