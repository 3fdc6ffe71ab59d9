"""Commands about models; they arrive in `conformance` by entry points."""
