"""The cases: one module a kind, each with `run(trial)`, which raises unless the device is right."""
