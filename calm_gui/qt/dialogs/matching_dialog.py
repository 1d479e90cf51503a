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

from calm_gui.errors import CalmError, ClassLookupError
from calm_gui.model import wordnet
from calm_gui.model.class_matching import match_classes, matched_hierarchy
from calm_gui.qt.hub import Hub
from calm_gui.session.jobs import Job

__all__ = ["MatchingDialog"]

_CLASS, _NOUN, _GLOSS = range(3)
_Noun = tuple[str, str]
"""Name with wnid, and meaning."""


class MatchingDialog(QDialog):
    """A table of classes and their nouns; the second column takes a noun or a wnid.

    The worker finds the nouns: WordNet takes seconds to read.
    """

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Match classes to WordNet")
        self.resize(760, 560)
        self._hub = hub
        self._runner = hub.workspace.compute.runner
        self._classes = hub.scene.classes
        self.matches: dict[int, str | None] = {}
        self.below = QLineEdit()
        self.below.setPlaceholderText("only below (a noun or wnid), for example bird")
        self.below.setAccessibleName("Only nouns below")
        self.again = QPushButton("Match again")
        self.again.clicked.connect(self.match)
        self.table = QTableWidget(len(self._classes), 3)
        self.table.setAccessibleName("Classes and their nouns")
        self.table.setHorizontalHeaderLabels(["class", "noun or wnid", "meaning"])
        self.table.horizontalHeader().setStretchLastSection(True)
        self.table.itemChanged.connect(self._on_edit)
        self.message = QLabel()
        self.message.setWordWrap(True)
        self.buttons = buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        buttons.accepted.connect(self.use)
        buttons.rejected.connect(self.reject)
        top = QHBoxLayout()
        top.addWidget(self.below, 1)
        top.addWidget(self.again)
        layout = QVBoxLayout(self)
        layout.addLayout(top)
        layout.addWidget(self.table, 1)
        layout.addWidget(self.message)
        layout.addWidget(buttons)
        self.match()

    def match(self) -> None:
        """Match all classes anew."""
        classes, text = self._classes, self.below.text().strip()

        def work(_: Job) -> tuple[dict[int, str | None], dict[str, _Noun]]:
            below = _noun(text) if text else None
            if text and below is None:
                raise ClassLookupError(f"WordNet has no noun {text!r}")
            matches = match_classes(classes, below)
            known = {wnid: noun for wnid in dict.fromkeys(matches.values()) if wnid and (noun := _described(wnid))}
            return {index: wnid if wnid in known else None for index, wnid in matches.items()}, known

        self._show_reading(True)
        self.message.setText("reading WordNet …")
        self._runner.submit(Job("matching", work, self._done, self._failed))

    def _done(self, found: tuple[dict[int, str | None], dict[str, _Noun]]) -> None:
        self._show_reading(False)
        self.matches, known = found
        self.table.blockSignals(True)
        for row, info in enumerate(self._classes):
            fixed = QTableWidgetItem(info.name)
            fixed.setFlags(Qt.ItemFlag.ItemIsEnabled)
            self.table.setItem(row, _CLASS, fixed)
            self._show(row, known.get(self.matches.get(info.index) or ""))
        self.table.blockSignals(False)
        self.table.resizeColumnToContents(_CLASS)
        self._count()

    def _failed(self, error: Exception) -> None:
        self._show_reading(False)
        self.message.setText(str(error))

    def _show_reading(self, reading: bool) -> None:
        for widget in (self.table, self.again, self.buttons.button(QDialogButtonBox.StandardButton.Ok)):
            widget.setEnabled(not reading)

    def reject(self) -> None:
        """Close; what is being read is no longer waited for."""
        self._runner.cancel("matching")
        super().reject()

    def _show(self, row: int, noun: _Noun | None) -> None:
        text, gloss = noun or ("", "not found in WordNet")
        self.table.setItem(row, _NOUN, QTableWidgetItem(text))
        meaning = QTableWidgetItem(gloss)
        meaning.setFlags(Qt.ItemFlag.ItemIsEnabled)
        self.table.setItem(row, _GLOSS, meaning)

    def _on_edit(self, item: QTableWidgetItem) -> None:
        if item.column() != _NOUN:
            return
        text = item.text().strip().split("(")[-1].rstrip(")") if "(" in item.text() else item.text().strip()
        try:
            wnid = _noun(text) if text else None
        except CalmError as error:
            self.message.setText(str(error))
            wnid = None
        self.matches[item.row()] = wnid
        self.table.blockSignals(True)
        self._show(item.row(), _described(wnid) if wnid else None)
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


def _noun(text: str) -> str | None:
    """The wnid that a text is or means."""
    return text if _described(text) else wordnet.find_synset(text)


def _described(wnid: str) -> _Noun | None:
    """Name and meaning of a noun; None where WordNet lacks it."""
    try:
        name, _, gloss = wordnet.describe(wnid)
    except CalmError:
        return None
    return f"{name} ({wnid})", gloss
