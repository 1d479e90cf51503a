"""Matches classes that have no wnid to WordNet's nouns; every match can be corrected."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from calm_gui.errors import CalmError
from calm_gui.model import wordnet
from calm_gui.model.class_matching import match_classes, matched_hierarchy
from calm_gui.qt.hub import Hub

__all__ = ["MatchingDialog"]

_CLASS, _NOUN, _GLOSS = range(3)


class MatchingDialog(QDialog):
    """A table of classes and their nouns; the second column takes a noun or a wnid."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Match classes to WordNet")
        self.resize(760, 560)
        self._hub = hub
        self._classes = hub.scene.classes
        self.matches: dict[int, str | None] = {}
        self.below = QLineEdit()
        self.below.setPlaceholderText("only below (a noun or wnid), for example bird")
        self.below.setAccessibleName("Only nouns below")
        again = QPushButton("Match again")
        again.clicked.connect(self.match)
        self.table = QTableWidget(len(self._classes), 3)
        self.table.setAccessibleName("Classes and their nouns")
        self.table.setHorizontalHeaderLabels(["class", "noun or wnid", "meaning"])
        self.table.horizontalHeader().setStretchLastSection(True)
        self.table.itemChanged.connect(self._on_edit)
        self.message = QLabel()
        self.message.setWordWrap(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self.use)
        buttons.rejected.connect(self.reject)
        top = QHBoxLayout()
        top.addWidget(self.below, 1)
        top.addWidget(again)
        layout = QVBoxLayout(self)
        layout.addLayout(top)
        layout.addWidget(self.table, 1)
        layout.addWidget(self.message)
        layout.addWidget(buttons)
        self.match()

    def match(self) -> None:
        """Match all classes anew."""
        try:
            text = self.below.text().strip()
            below = (text if text in _known(text) else wordnet.find_synset(text)) if text else None
            self.matches = match_classes(self._classes, below)
        except CalmError as error:
            self.message.setText(str(error))
            return
        self.table.blockSignals(True)
        for row, info in enumerate(self._classes):
            fixed = QTableWidgetItem(info.name)
            fixed.setFlags(Qt.ItemFlag.ItemIsEnabled)
            self.table.setItem(row, _CLASS, fixed)
            self._show(row, self.matches.get(info.index))
        self.table.blockSignals(False)
        self.table.resizeColumnToContents(_CLASS)
        self._count()

    def _show(self, row: int, wnid: str | None) -> None:
        name, _, gloss = wordnet.describe(wnid) if wnid else ("", (), "not found in WordNet")
        self.table.setItem(row, _NOUN, QTableWidgetItem(f"{name} ({wnid})" if wnid else ""))
        meaning = QTableWidgetItem(gloss)
        meaning.setFlags(Qt.ItemFlag.ItemIsEnabled)
        self.table.setItem(row, _GLOSS, meaning)

    def _on_edit(self, item: QTableWidgetItem) -> None:
        if item.column() != _NOUN:
            return
        text = item.text().strip().split("(")[-1].rstrip(")") if "(" in item.text() else item.text().strip()
        try:
            wnid = (text if _known(text) else wordnet.find_synset(text)) if text else None
        except CalmError as error:
            self.message.setText(str(error))
            wnid = None
        self.matches[item.row()] = wnid
        self.table.blockSignals(True)
        self._show(item.row(), wnid)
        self.table.blockSignals(False)
        self._count("" if wnid or not text else f"WordNet has no noun {text!r}")

    def _count(self, message: str = "") -> None:
        missing = sum(wnid is None for wnid in self.matches.values())
        self.message.setText(message or f"{len(self.matches) - missing} classes matched, {missing} not found")

    def use(self) -> None:
        """Use the hierarchy above the matches and close."""
        try:
            self._hub.workspace.set_hierarchy(matched_hierarchy(self._classes, self.matches))
        except CalmError as error:
            self.message.setText(str(error))
            return
        self.accept()


def _known(text: str) -> tuple[str, ...]:
    """The wnid that a text is, if WordNet has it."""
    try:
        wordnet.describe(text)
    except CalmError:
        return ()
    return (text,)
