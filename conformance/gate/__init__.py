"""The gate: a policy, waivers and a comparison in, a verdict that explains itself out."""
