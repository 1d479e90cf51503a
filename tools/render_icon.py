"""Render the program's icon from its SVG: ``python tools/render_icon.py``."""

from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

import calm_resources

SIZE = 256


def main() -> None:
    """Write ``icons/calm-gui.png`` beside ``icons/calm-gui.svg``."""
    app = QGuiApplication(["render_icon", "-platform", "offscreen"])
    source = calm_resources.path("icons/calm-gui.svg")
    image = QImage(SIZE, SIZE, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    QSvgRenderer(str(source)).render(painter)
    painter.end()
    image.save(str(source.with_suffix(".png")))
    app.quit()


if __name__ == "__main__":
    main()
