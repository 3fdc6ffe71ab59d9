"""Versions of the database's schema, run by `conformance db upgrade`."""
