"""A linter for code that keeps memory alive in PyTorch programs."""

__version__ = "0.1.0"
