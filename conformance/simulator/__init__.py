"""The simulated backend: a PrivateUse1 device named `neuron` that computes on the CPU under a support table.

Nothing here is hardware, and nothing it produces may be read as such.
"""
