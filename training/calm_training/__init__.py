"""Training and evaluation of CALM and CAM checkpoints (the paper's sections 4 and 5)."""
