"""How a signature is run: one module a mode, each from building to comparing in stages."""
