"""The panes in the middle: pictures with their maps, headers, scale bars, the ledger line."""
