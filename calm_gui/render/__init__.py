"""From a map to colours to a figure: the same pixels in the window, in exports and in the API."""
