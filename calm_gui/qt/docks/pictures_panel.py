"""The open pictures as a row of thumbnails, with a filter and marks of right and wrong."""

from collections.abc import Collection
from pathlib import Path

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QSize, Qt, QTimer, QUrl
from PySide6.QtGui import (
    QColor,
    QDesktopServices,
    QGuiApplication,
    QIcon,
    QImage,
    QImageReader,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QPushButton,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from calm_gui.core.classes import fold_text
from calm_gui.qt.dock import DOCKS, Dock, DockPanel
from calm_gui.qt.hub import Hub
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets.measure import scaled
from calm_gui.qt.widgets.popup_menu import show_menu
from calm_gui.qt.widgets.row_menu import RowMenu
from calm_gui.session.pane import MAX_PANES
from calm_gui.session.scene import Scene

__all__ = ["PICTURES", "PicturesPanel"]

_SIDE = 46
_SMALLEST_SIDE = 24
_ACROSS = 62
"""Sides of a thumbnail, at most and at least, and the width of its place."""

_MOST_PIXELS = 24_000_000
"""Larger pictures get no thumbnail, unless they're JPEG, which is decoded at a fraction of its size."""

_MOST_JPEG_PIXELS = 180_000_000


class _WholePlace(QStyledItemDelegate):
    """Gives a caption the whole width of its place, however wide the thumbnail is."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        view = self.parent()
        assert isinstance(view, QListView)
        return view.gridSize()


class _Thumbnails(QListWidget):
    """The row itself; arrow and page keys change the picture."""

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self._workspace = hub.workspace
        self.setAccessibleName("Open pictures")
        self.setFlow(QListView.Flow.LeftToRight)
        self.setWrapping(False)
        self.setViewMode(QListView.ViewMode.IconMode)
        self.setMovement(QListView.Movement.Static)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setSpacing(0)
        self.fit_text()
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.setItemDelegate(_WholePlace(self))
        RowMenu(self, self._show_menu)

    def fit_text(self) -> None:
        """Take the sizes that the letters ask for."""
        font = QApplication.font()
        font.setPointSizeF(max(7.0, font.pointSizeF() - 1.5))
        self.setFont(font)
        self.fit_height()

    def fit_height(self) -> None:
        """Let the thumbnails give way to the scroll bar, so that it never covers their captions."""
        across = max(_ACROSS, scaled(self, _ACROSS))
        rows = sum(not self.isRowHidden(row) for row in range(self.count()))
        bar = self.horizontalScrollBar().sizeHint().height() if rows * across > self.contentsRect().width() else 0
        caption = self.fontMetrics().height() + 4
        side = max(_SMALLEST_SIDE, min(_SIDE, self.contentsRect().height() - bar - caption))
        self.setIconSize(QSize(side, side))
        self.setGridSize(QSize(across, side + caption))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.fit_height()
        super().resizeEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:  # another button chooses nothing
            super().mousePressEvent(event)

    def _show_menu(self, index: QModelIndex, place: QPoint) -> None:
        if index.isValid():
            show_menu(self.menu(index.row()), place)

    def menu(self, row: int) -> QMenu:
        """What can be done with an open picture."""
        workspace, menu = self._workspace, QMenu(self)
        key = workspace.state.pictures[row]
        menu.addAction("Show", lambda: workspace.show_picture(row))
        beside = menu.addAction("Keep in a pane of its own", lambda: workspace.add_pane(key))
        beside.setEnabled(len(workspace.state.panes) < MAX_PANES)
        menu.addSeparator()
        menu.addAction("Copy the file's path", lambda: QGuiApplication.clipboard().setText(key))
        folder = QUrl.fromLocalFile(str(Path(key).parent))
        menu.addAction("Open its folder", lambda: QDesktopServices.openUrl(folder))
        menu.addSeparator()
        menu.addAction("Close the picture", lambda: workspace.close_picture(key))
        return menu

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = (event.key() == Qt.Key.Key_PageDown) - (event.key() == Qt.Key.Key_PageUp)
        if by:  # a list in one row has no pages of its own
            self.step(by)
        else:
            super().keyPressEvent(event)
            self._workspace.show_picture(self.currentRow())

    def step(self, by: int) -> None:
        """Go to the next (1) or previous (-1) picture that the filter shows, passing those tried in vain."""
        self._workspace.step_picture(by, lambda row: not self.isRowHidden(row))


class PicturesPanel(DockPanel):
    """Thumbnails, made one at a time while nothing else happens.

    Right and wrong are marked where ground truth is known and the picture was explained.
    """

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self._workspace = hub.workspace
        self._pictures: tuple[str, ...] = ()
        self._todo: list[int] = []
        self._plain: dict[int, QPixmap] = {}
        self._marks: dict[int, bool | None] = {}
        self._known: object = None
        self._only: frozenset[str] | None = None
        self.list = _Thumbnails(hub)
        self.list.setObjectName("film")
        self.list.clicked.connect(self._on_click)
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("Name or predicted class")
        self.filter.setAccessibleName("Filter pictures by file name or predicted class")
        self.filter.setToolTip(
            "Filter by file name, predicted class, or a group that contains it; View > Predict all predicts the classes"
        )
        self.filter.setClearButtonEnabled(True)
        self.filter.setMinimumWidth(scaled(self, 60))
        self.filter.setMaximumWidth(scaled(self, 190))
        self.filter.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.filter.textChanged.connect(lambda _: self._apply_filter())
        self.found = QLabel()
        self.found.setObjectName("muted")
        self.found.hide()
        self.everything = QPushButton("Show all")
        self.everything.setObjectName("flat")
        self.everything.clicked.connect(lambda: self.show_only(None))
        self.everything.hide()
        self.tools = (self.found, self.everything, self.filter)
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 0, 4, 0)
        row.addWidget(self.list, 1)
        hub.pictures_wanted.connect(self.show_only)
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._make_one)

    @property
    def in_tab_order(self) -> tuple[QWidget, ...]:
        """What the Tab key goes to, from first to last."""
        return (self.list,)

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's pictures."""
        pictures = scene.state.pictures
        if pictures != self._pictures:
            self._fill(pictures)
        if scene.state.current >= 0 and self.list.currentRow() != scene.state.current:
            self.list.setCurrentRow(scene.state.current)
        self._mark(scene)

    def show_only(self, pictures: Collection[str] | None) -> None:
        """Show only some of the open pictures; None shows all. What is open stays open."""
        self._only = None if pictures is None else frozenset(pictures)
        self.everything.setVisible(self._only is not None)
        self._apply_filter()

    def _fill(self, pictures: tuple[str, ...]) -> None:
        self._pictures = pictures
        self._plain, self._marks = {}, {}
        self.list.clear()
        blank = QPixmap(_SIDE, _SIDE)
        blank.fill(QColor(current_theme().bar))
        for path in pictures:
            item = QListWidgetItem(QIcon(blank), Path(path).stem)
            item.setToolTip(path)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, Path(path).name)
            self.list.addItem(item)
        self.list.fit_height()
        self._todo = list(range(len(pictures)))
        self._timer.start()

    def _verdict(self, row: int, scene: Scene) -> bool | None:
        """Whether the prediction is right; None where that isn't known."""
        picture = self._pictures[row]
        predicted = self._workspace.compute.predictions.get((picture, scene.state.selection.checkpoint))
        true = self._workspace.true_class(picture)
        return None if predicted is None or true is None else predicted[0] == true

    def _mark(self, scene: Scene) -> None:
        known = (
            len(self._workspace.compute.predictions),
            self._workspace.truth,
            scene.state.selection.checkpoint,
            self._pictures,
        )
        if known == self._known:
            return
        self._known = known
        for row in range(len(self._pictures)):
            verdict = self._verdict(row, scene)
            if verdict != self._marks.get(row):
                self._marks[row] = verdict
                self._show_icon(row)
        self._apply_filter()

    def _show_icon(self, row: int) -> None:
        plain, item, verdict = self._plain.get(row), self.list.item(row), self._marks.get(row)
        if plain is None or item is None:
            return
        marked = QPixmap(plain)
        if verdict is not None:
            theme = current_theme()
            painter = QPainter(marked)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setBrush(QColor(theme.good if verdict else theme.bad))
            painter.setPen(QColor("#ffffff"))
            painter.drawEllipse(2, 2, 14, 14)
            painter.drawText(2, 2, 14, 14, int(Qt.AlignmentFlag.AlignCenter), "✓" if verdict else "✗")
            painter.end()
        shown = QIcon(marked)
        shown.addPixmap(marked, QIcon.Mode.Selected)  # or the current picture would be tinted
        item.setIcon(shown)

    def _apply_filter(self) -> None:
        needle, scene = fold_text(self.filter.text()), self._hub.scene
        for row, picture in enumerate(self._pictures):
            left_out = self._only is not None and picture not in self._only
            hidden = left_out or (bool(needle) and needle not in fold_text(self._words(picture, scene)))
            if self.list.isRowHidden(row) != hidden:
                self.list.setRowHidden(row, hidden)
        shown = sum(not self.list.isRowHidden(row) for row in range(len(self._pictures)))
        self.list.fit_height()
        self.found.setText(f"{shown} of {len(self._pictures)} pictures" if shown else "no picture matches")
        self.found.setVisible(bool(needle) or self._only is not None)

    def _words(self, picture: str, scene: Scene) -> str:
        """What the filter looks through: the file's name, the predicted class and the groups that hold it."""
        words = [Path(picture).name]
        if predicted := self._workspace.compute.predictions.get((picture, scene.state.selection.checkpoint)):
            info, hierarchy = scene.classes[predicted[0]], scene.hierarchy
            words += [info.name, *info.synonyms]
            if hierarchy is not None and (key := hierarchy.by_class.get(info.index)):
                words += [hierarchy[above].name for above in hierarchy.ancestors(key)]
        return "\n".join(words)

    def _on_click(self, index: QModelIndex) -> None:
        self._workspace.show_picture(index.row())

    def _make_one(self) -> None:
        if not self._todo:
            self._timer.stop()
            return
        row = self._todo.pop(0)
        reader = QImageReader(self._pictures[row])
        reader.setDecideFormatFromContent(True)
        reader.setAutoTransform(True)
        size = reader.size()
        most = _MOST_JPEG_PIXELS if reader.format() == b"jpeg" else _MOST_PIXELS
        if not size.isValid() or size.width() * size.height() > most:
            return
        side = int(_SIDE * self.devicePixelRatioF())
        reader.setScaledSize(size.scaled(side, side, Qt.AspectRatioMode.KeepAspectRatio))
        image = reader.read()
        if not image.isNull():
            self._plain[row] = _on_a_square(image, side)
            self._show_icon(row)


def _on_a_square(image: QImage, side: int) -> QPixmap:
    """A thumbnail at the foot of a clear square, so that all captions stand on one line."""
    square = QPixmap(side, side)
    square.fill(Qt.GlobalColor.transparent)
    painter = QPainter(square)
    painter.drawImage((side - image.width()) // 2, side - image.height(), image)
    painter.end()
    return square


PICTURES = DOCKS.register(
    Dock(
        key="pictures",
        title="Pictures",
        tip="The open pictures",
        area="bottom",
        size=94,
        least=70,
        make=lambda hub, _: PicturesPanel(hub),
        opened=True,
        count=lambda scene: len(scene.state.pictures) or None,
    )
)
