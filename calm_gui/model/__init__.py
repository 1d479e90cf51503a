"""Networks, checkpoints, devices and the way from a picture file to an explanation."""
