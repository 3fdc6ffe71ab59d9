"""Lists of tests that other projects keep, read as what they say and resolved to whole identities."""
