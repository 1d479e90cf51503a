"""The classes and groups: tree, list, search, and how their rows are painted."""
