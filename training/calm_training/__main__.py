"""``python -m calm_training``, for torchrun: the same as ``calm-train``."""

from calm_training.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
