"""Regions: their names, the mass that lies in each, and which classes live there."""

import numpy as np
from PySide6.QtCore import QModelIndex, QSignalBlocker, Qt
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QListWidget,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from calm_gui.core.explanation import Explanation
from calm_gui.qt.hub import Hub
from calm_gui.qt.number_table import NumberTable
from calm_gui.render.naming import number_text
from calm_gui.session.expression import Expression, class_key
from calm_gui.session.scene import Scene

__all__ = ["RegionPanel"]

_HEADING = ("class", "p in R", "of p(y|x)", "index")


class RegionPanel(QFrame):
    """A list of the picture's regions, and a table of all classes for the chosen one."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self._hub = hub
        self._shown: object = None
        self.regions = QListWidget()
        self.regions.setAccessibleName("Regions")
        self.regions.setMaximumHeight(110)
        self.regions.currentRowChanged.connect(lambda _: self._show_table())
        self.numbers = QLabel()
        self.numbers.setWordWrap(True)
        self.numbers.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        rename, remove = QPushButton("Rename…"), QPushButton("Forget")
        rename.clicked.connect(self._rename)
        remove.clicked.connect(self._remove)
        self._buttons = (rename, remove)
        heading = QLabel("Which classes live here")
        heading.setObjectName("heading")
        self.table = NumberTable("Classes in the region")
        self.table.setSortingEnabled(True)
        self.table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
        self.table.verticalHeader().hide()
        self.table.setToolTip("Double-click makes a class the target; Ctrl+C copies the table")
        self.table.doubleClicked.connect(self._choose)
        row = QHBoxLayout()
        row.addWidget(rename)
        row.addWidget(remove)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 10, 8)
        hint = QLabel("Draw a rectangle (Ctrl+R), lasso (Ctrl+L) or brush (Ctrl+B) on a picture.")
        hint.setWordWrap(True)
        hint.setObjectName("muted")
        for widget in (hint, self.regions):
            layout.addWidget(widget)
        layout.addLayout(row)
        layout.addWidget(self.numbers)
        layout.addWidget(heading)
        layout.addWidget(self.table, 1)
        hub.scene_changed.connect(self.show_scene)
        self.show_scene(hub.scene)

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's regions."""
        names = [shape.name for shape, _ in scene.regions]
        if names != [self.regions.item(i).text() for i in range(self.regions.count())]:
            with QSignalBlocker(self.regions):
                self.regions.clear()
                self.regions.addItems(names)
                self.regions.setCurrentRow(len(names) - 1)
        for button in self._buttons:
            button.setEnabled(bool(names))
        self._show_table()

    def _show_table(self) -> None:
        scene, row = self._hub.scene, self.regions.currentRow()
        explanation = scene.explanation
        if not isinstance(explanation, Explanation) or not 0 <= row < len(scene.regions):
            self.numbers.setText("")
            if self._shown is not None:
                self._shown = None
                self.table.rows.show(_HEADING, ())
            return
        shape, region = scene.regions[row]
        parts = [f"{region.cells:.1f} cells, {100 * region.cells / region.weights.size:.0f} % of the picture"]
        parts.append(f"p(z in R|x) {number_text(float((explanation.saliency().values * region.weights).sum()))}")
        for letter, classes in (("A", scene.target), ("B", scene.contrast)):
            if classes:
                parts.append(f"p({letter}, z in R|x) {number_text(explanation.probability(classes, region))}")
        self.numbers.setText("\n".join(parts))
        if self._shown != (id(explanation), shape):
            self._shown = (id(explanation), shape)
            inside, total = explanation.region_probabilities(region), explanation.class_probabilities
            share = inside / np.maximum(total, 1e-300)
            rows = [(info.name, float(inside[i]), float(share[i]), i) for i, info in enumerate(scene.classes)]
            self.table.rows.show(_HEADING, rows)
            self.table.resizeColumnsToContents()
            self.table.setColumnWidth(0, min(self.table.columnWidth(0), 90))

    def _rename(self) -> None:
        row = self.regions.currentRow()
        if 0 <= row < len(self._hub.scene.regions):
            shape = self._hub.scene.regions[row][0]
            name, accepted = QInputDialog.getText(self, "Rename region", "Name", text=shape.name)
            if accepted and name.strip():
                self._hub.workspace.rename_region(shape, name.strip())

    def _remove(self) -> None:
        row = self.regions.currentRow()
        if 0 <= row < len(self._hub.scene.regions):
            self._hub.workspace.remove_region(self._hub.scene.regions[row][0])

    def _choose(self, index: QModelIndex) -> None:
        number = index.siblingAtColumn(3).data(Qt.ItemDataRole.UserRole)
        self._hub.workspace.set_target(Expression.of(class_key(int(number), self._hub.scene.classes)))
