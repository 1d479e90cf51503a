"""The active map's values as a table."""

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QVBoxLayout, QWidget

from calm_gui.core.maps import Map
from calm_gui.qt.number_table import NumberTable

__all__ = ["ValuesDialog"]


class ValuesDialog(QDialog):
    """A table of H rows and W columns; the whole of it can be copied."""

    def __init__(self, shown: Map, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"Values — {title}")
        self.resize(860, 560)
        self.table = NumberTable("Values of the map")
        width = shown.values.shape[1]
        self.table.rows.show([str(j) for j in range(width)], shown.values.astype(float).tolist())
        self.table.resizeColumnsToContents()
        words = f"{shown.values.shape[0]} x {width} cells, {shown.unit}, sum {shown.sum:.7g}"
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = buttons.addButton("Copy all", QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.table.rows.text()))
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(QLabel(words))
        layout.addWidget(self.table)
        layout.addWidget(buttons)
