"""Readers of data sets: one file for each layout of labelled pictures, one for boxes, one for masks.

``layouts`` has the registry that recipes name; ``boxes`` and ``masks`` read annotations for evaluation.
"""
