"""Tests of the inventory of overloads."""
