"""Stored results in the forms that other tools read. Pure functions: rows in, text out."""
