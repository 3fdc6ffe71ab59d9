"""The pytest plugin's parts, imported only when a target was asked for."""
