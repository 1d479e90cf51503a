"""Render pictures from their SVG: ``python tools/render_icon.py``."""

from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

import calm_resources

PROGRAM = 256
CONTROLS = {
    "check": ("check", 12),
    "partial": ("partial", 12),
    "dot": ("dot", 12),
    "chevron": ("chevron", 12),
    "chevron-small": ("chevron", 10),
    "chevron-up": ("chevron-up", 10),
}
"""Marks of the style sheet: what they are drawn from, and their sides.

Each control reads its own: as SVG that took 4 ms of the first frame.
"""


def render(outline: str, side: int, name: str) -> None:
    """Write ``icons/<name>.png`` from ``icons/<outline>.svg``."""
    source = calm_resources.path(f"icons/{outline}.svg")
    image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    QSvgRenderer(str(source)).render(painter)
    painter.end()
    image.save(str(source.with_name(f"{name}.png")))


def main() -> None:
    """Render the program's icon, and the controls' marks for screens of one, two and three pixels to a point."""
    app = QGuiApplication(["render_icon", "-platform", "offscreen"])
    render("calm-gui", PROGRAM, "calm-gui")
    for name, (outline, side) in CONTROLS.items():
        for ratio in (1, 2, 3):
            render(outline, side * ratio, f"{name}@{ratio}x" if ratio > 1 else name)
    app.quit()


if __name__ == "__main__":
    main()
