"""Regions: their names, the mass that lies in each, and which classes live there."""

from __future__ import annotations

from itertools import count

from PySide6.QtCore import QModelIndex, QPoint, QSignalBlocker, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QInputDialog,
    QLabel,
    QListWidget,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from calm_gui.core.cam_explanation import CamExplanation
from calm_gui.core.explanation import Explanation
from calm_gui.late import np
from calm_gui.qt.dock import DockPanel
from calm_gui.qt.hub import Hub
from calm_gui.qt.widgets import numbers
from calm_gui.qt.widgets.number_table import NumberTable
from calm_gui.qt.widgets.popup_menu import show_menu
from calm_gui.qt.widgets.row_menu import RowMenu
from calm_gui.qt.widgets.set_menu import show_set_menu
from calm_gui.session.expression import Expression, class_key
from calm_gui.session.scene import Scene

__all__ = ["RegionPanel"]

_HEADING = ("class", "in R", "share", "no.")
_TIPS = (
    "All classes",
    "p(y, z in R|x): the picture shows the class and its cue lies in the region",
    "Of the class's p(y|x), how much lies in the region",
    "The class's index",
)
_FEW = 4
"""Regions that are seen without scrolling."""

_ARROW = 14
"""Pixels that the mark of the sorted column needs beside its heading."""
_CAM = "No numbers: CAM gives class scores, not probabilities, so they don't add up over a region."


class RegionPanel(DockPanel):
    """A list of the picture's regions, and a table of all classes for the chosen one."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self._hub = hub
        self._shown: object = None
        self.regions = QListWidget()
        self.regions.setAccessibleName("Regions")
        self.regions.setMaximumHeight(_FEW * (self.fontMetrics().height() + 6))
        RowMenu(self.regions, self._show_menu)
        self.regions.currentRowChanged.connect(lambda _: self._show_table())
        delete = QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.regions, self._remove_chosen)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        self.numbers = QLabel()
        self.numbers.setWordWrap(True)
        self.numbers.setToolTip(
            "How much of p(A|x) and p(B|x) has its cue inside the region and outside, "
            "and p(A, z in R|x), p(B, z in R|x). Any class: p(z in R|x)"
        )
        self.numbers.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        rename, remove = QPushButton("Rename…"), QPushButton("Remove")
        rename.clicked.connect(lambda: self._rename(self.regions.currentRow()))
        remove.clicked.connect(self._remove_chosen)
        self._buttons = (rename, remove)
        heading = QLabel("Classes with evidence here")
        heading.setObjectName("heading")
        heading.setToolTip("Classes by how much of their probability has its cue in the chosen region")
        self.table = NumberTable("Classes in the region", number=numbers.number)
        self.table.rows.show(_HEADING, ())
        self.table.rows.tips = _TIPS
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in range(1, len(_HEADING)):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
        self._fit_numbers([("", 0.0, 0.0, 0)])
        self.table.setSortingEnabled(True)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
        self.table.verticalHeader().hide()
        self.table.setToolTip(
            "p(y, z in R|x), its share of the class's p(y|x), and the class's index. "
            "Double-click makes a class the target; Ctrl+C copies the table"
        )
        self.table.doubleClicked.connect(self._choose)
        RowMenu(self.table, self._show_class_menu)
        row = QHBoxLayout()
        row.addWidget(rename)
        row.addWidget(remove)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 10, 8)
        hint = QLabel("Draw a rectangle (Ctrl+R), lasso (Ctrl+L) or brush (Ctrl+B) on a picture; drag it to move it.")
        hint.setToolTip(
            "With the keyboard, on a pane: Return draws a rectangle while a tool is active, and otherwise selects the "
            "next region. Arrows move it, Shift+arrows resize it, Delete removes it"
        )
        hint.setWordWrap(True)
        hint.setObjectName("muted")
        for widget in (hint, self.regions):
            layout.addWidget(widget)
        layout.addLayout(row)
        layout.addWidget(self.numbers)
        layout.addWidget(heading)
        layout.addWidget(self.table, 1)

    @property
    def in_tab_order(self) -> tuple[QWidget, ...]:
        """What the Tab key goes to, from first to last."""
        return (self.regions, *self._buttons, self.table)

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's regions."""
        names = [shape.name for shape, _ in scene.regions]
        if names != [self.regions.item(i).text() for i in range(self.regions.count())]:
            row, last = self.regions.currentRow(), len(names) - 1
            with QSignalBlocker(self.regions):
                added = len(names) > self.regions.count()
                self.regions.clear()
                self.regions.addItems(names)
                self.regions.setCurrentRow(last if added or row < 0 else min(row, last))
        for button in self._buttons:
            button.setEnabled(bool(names))
        self._show_table()

    def _show_table(self) -> None:
        scene, row = self._hub.scene, self.regions.currentRow()
        explanation = scene.explanation
        if not isinstance(explanation, Explanation) or not 0 <= row < len(scene.regions):
            self.numbers.setText(_CAM if isinstance(explanation, CamExplanation) else "")
            if self._shown is not None:
                self._shown = None
                self.table.rows.show(_HEADING, ())
            return
        shape, region = scene.regions[row]
        parts = [f"{region.cells:.1f} cells, {100 * region.cells / region.weights.size:.0f} % of the picture"]
        any_class = numbers.number(float((explanation.saliency().values * region.weights).sum()))
        for letter, classes in (("A", scene.target), ("B", scene.contrast)):
            if classes:
                mass, whole = explanation.probability(classes, region), explanation.probability(classes)
                parts.append(f"{letter}: {_shares(mass, whole)} · {numbers.number(mass)}")
        parts.append(f"any class: inside {any_class}")
        self.numbers.setText("\n".join(parts))
        if self._shown != (id(explanation), shape):
            self._shown = (id(explanation), shape)
            inside, total = explanation.region_probabilities(region), explanation.class_probabilities
            share = inside / np.maximum(total, 1e-300)
            rows = [(info.name, float(inside[i]), float(share[i]), i) for i, info in enumerate(scene.classes)]
            self.table.rows.show(_HEADING, rows)
            self._fit_numbers(rows)

    def _fit_numbers(self, rows: list[tuple[str, float, float, int]]) -> None:
        """Give the columns of numbers the width that they need; the names get what is left."""
        advance = self.table.fontMetrics().horizontalAdvance
        texts = [(numbers.number(p), numbers.number(share), str(index)) for _, p, share, index in rows]
        for column, written in enumerate(zip(*texts, strict=True), start=1):
            width = max(advance(_HEADING[column]) + _ARROW, advance(max(written, key=len)) + 9)
            self.table.setColumnWidth(column, width)

    def _show_menu(self, index: QModelIndex, place: QPoint) -> None:
        if index.isValid():
            menu, row = QMenu(self), index.row()
            menu.addAction("Rename…", lambda: self._rename(row))
            menu.addAction("Remove", lambda: self._remove(row))
            show_menu(menu, place)

    def _show_class_menu(self, index: QModelIndex, place: QPoint) -> None:
        if index.isValid():
            number = int(index.siblingAtColumn(3).data(Qt.ItemDataRole.UserRole))
            key = class_key(number, self._hub.scene.classes)
            show_set_menu(self, self._hub.workspace, key, place)

    def _rename(self, row: int) -> None:
        if 0 <= row < len(self._hub.scene.regions):
            shape = self._hub.scene.regions[row][0]
            name, accepted = QInputDialog.getText(self, "Rename region", "Name", text=shape.name)
            if accepted and name.strip():
                self._hub.workspace.rename_region(shape, self._free_name(name.strip(), row))

    def _free_name(self, name: str, row: int) -> str:
        """The name, with a number if another region has it."""
        taken = {shape.name for i, (shape, _) in enumerate(self._hub.scene.regions) if i != row}
        if name not in taken:
            return name
        free = next(f"{name} {i}" for i in count(2) if f"{name} {i}" not in taken)
        self._hub.workspace.complain(f"Another region is called {name}; this one is {free} now.")
        return free

    def _remove_chosen(self) -> None:
        self._remove(self.regions.currentRow())

    def _remove(self, row: int) -> None:
        if 0 <= row < len(self._hub.scene.regions):
            self._hub.workspace.remove_region(self._hub.scene.regions[row][0])

    def _choose(self, index: QModelIndex) -> None:
        number = index.siblingAtColumn(3).data(Qt.ItemDataRole.UserRole)
        self._hub.workspace.set_target(Expression.of(class_key(int(number), self._hub.scene.classes)))


def _shares(inside: float, whole: float) -> str:
    """How much of a set's probability lies inside and outside, in whole percent."""
    if whole <= 0:
        return "none"
    percent = min(100, max(0, round(100 * inside / whole)))
    words = (f"{percent} %" if percent or not inside else "<1 %", f"{100 - percent} %")
    return f"inside {words[0]}, outside {words[1]}"
