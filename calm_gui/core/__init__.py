"""Arithmetic on values: explanations, class sets, hierarchies, regions, geometry. No files, no Qt, no torch."""
