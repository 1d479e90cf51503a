"""``python -m calm_training.evaluate``."""

from calm_training.evaluate import main

raise SystemExit(main())
