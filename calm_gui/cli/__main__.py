"""``python -m calm_gui.cli`` is ``calm-explain``."""

from calm_gui.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
