"""The program's version, for all that writes it down."""

__all__ = ["__version__"]

__version__ = "0.2.0"
