"""From a plan to outcomes: leases, shards, children, their journals, and what a death means."""
