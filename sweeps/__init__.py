"""Hugging Face models with reduced configurations: catalogue, reduction, inputs, signatures, and the suite `models`."""
