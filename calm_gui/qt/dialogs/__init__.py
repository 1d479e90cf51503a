"""The dialogs, one a file."""
