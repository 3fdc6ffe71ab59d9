"""One module a family of pages; each handler returns a `View`."""
