"""The open pictures as a row of thumbnails."""

from pathlib import Path

from PySide6.QtCore import QModelIndex, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QIcon, QImageReader, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
)

from calm_gui.qt.hub import Hub
from calm_gui.qt.theme import current_theme
from calm_gui.session.scene import Scene

__all__ = ["FilmStrip"]

_SIDE = 56
_MOST_PIXELS = 100_000_000


class FilmStrip(QListWidget):
    """Thumbnails, made one at a time while nothing else happens.

    Attributes
    ----------
    frame : QFrame
        What to put into a layout; hidden where there is only one picture.
    """

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self._hub = hub
        self._pictures: tuple[str, ...] = ()
        self._todo: list[int] = []
        self.setAccessibleName("Open pictures")
        self.setFlow(QListView.Flow.LeftToRight)
        self.setWrapping(False)
        self.setViewMode(QListView.ViewMode.IconMode)
        self.setMovement(QListView.Movement.Static)
        self.setIconSize(QSize(_SIDE, _SIDE))
        self.setGridSize(QSize(_SIDE + 8, _SIDE + 8))
        self.setFixedHeight(_SIDE + 20)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.frame = QFrame()
        self.frame.setObjectName("film")
        inside = QVBoxLayout(self.frame)
        inside.setContentsMargins(6, 3, 6, 0)
        inside.addWidget(self)
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._make_one)
        self.clicked.connect(self._on_click)
        hub.scene_changed.connect(self.show_scene)
        self.show_scene(hub.scene)

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's pictures."""
        pictures = scene.state.pictures
        if pictures != self._pictures:
            self._pictures = pictures
            self.clear()
            blank = QPixmap(_SIDE, _SIDE)
            blank.fill(QColor(current_theme().bar))
            for path in pictures:
                item = QListWidgetItem(QIcon(blank), "")
                item.setToolTip(path)
                item.setData(Qt.ItemDataRole.AccessibleTextRole, Path(path).name)
                self.addItem(item)
            self._todo = list(range(len(pictures)))
            self._timer.start()
        if scene.state.current >= 0 and self.currentRow() != scene.state.current:
            self.setCurrentRow(scene.state.current)
        self.frame.setVisible(len(pictures) > 1)

    def _on_click(self, index: QModelIndex) -> None:
        self._hub.workspace.show_picture(index.row())

    def keyPressEvent(self, event: object) -> None:
        super().keyPressEvent(event)  # type: ignore[arg-type]
        self._hub.workspace.show_picture(self.currentRow())

    def _make_one(self) -> None:
        if not self._todo:
            self._timer.stop()
            return
        row = self._todo.pop(0)
        reader = QImageReader(self._pictures[row])
        reader.setDecideFormatFromContent(True)
        reader.setAutoTransform(True)
        size = reader.size()
        item = self.item(row)
        if not size.isValid() or size.width() * size.height() > _MOST_PIXELS or item is None:
            return
        side = int(_SIDE * self.devicePixelRatioF())
        reader.setScaledSize(size.scaled(side, side, Qt.AspectRatioMode.KeepAspectRatio))
        image = reader.read()
        if not image.isNull():
            item.setIcon(QIcon(QPixmap.fromImage(image)))
