"""One module a version. Rule: the code of the version before must run on the schema of this one."""
