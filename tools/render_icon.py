"""Render pictures from their SVG: ``python tools/render_icon.py``."""

from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

import calm_resources

PROGRAM = 256
CONTROLS = {"check": 12, "partial": 12, "dot": 12, "chevron": 12, "chevron-small": 10, "chevron-up": 10}
"""Marks of the style sheet and their sides. Each control reads its own: as SVG that took 4 ms of the first frame."""


def render(name: str, side: int, suffix: str = "") -> None:
    """Write ``icons/<name><suffix>.png`` beside ``icons/<name>.svg``."""
    source = calm_resources.path(f"icons/{name}.svg")
    image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    QSvgRenderer(str(source)).render(painter)
    painter.end()
    image.save(str(source.with_name(f"{name}{suffix}.png")))


def main() -> None:
    """Render the program's icon, and the controls' marks for screens of one, two and three pixels to a point."""
    app = QGuiApplication(["render_icon", "-platform", "offscreen"])
    render("calm-gui", PROGRAM)
    for name, side in CONTROLS.items():
        for ratio in (1, 2, 3):
            render(name, side * ratio, f"@{ratio}x" if ratio > 1 else "")
    app.quit()


if __name__ == "__main__":
    main()
