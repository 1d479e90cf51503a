"""What the user does with what is open: each changes the state once."""
