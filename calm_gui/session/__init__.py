"""What the user has open and chosen, as frozen values, and the actions that change it. Plain Python."""
