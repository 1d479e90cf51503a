"""Superset annotation: one node after the other, one key each."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QMessageBox,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from calm_gui.errors import CalmError
from calm_gui.qt.dialogs.folders import remember_folder, start_folder
from calm_gui.qt.dialogs.save_dialog import ask_where_to_save
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.render.naming import counted
from calm_gui.session.annotation import Annotation

__all__ = ["AnnotationDialog"]

_FILTER = "Superset annotation (*.json)"


class AnnotationDialog(QDialog):
    """Walks a hierarchy breadth first; O marks *hom*, E marks *het*, Backspace takes back.

    Parameters
    ----------
    hub : Hub
    settings : Settings
    from_table : bool
        Begin with the checkpoint's superset table instead of nothing.
    """

    def __init__(self, hub: Hub, settings: Settings, from_table: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Annotate supersets")
        self.resize(560, 420)
        self._hub, self._settings = hub, settings
        info = hub.scene.info
        assert info is not None and info.hierarchy is not None
        self._given = info.supersets
        self.annotation = Annotation(info.hierarchy, info.supersets if from_table else ())
        self._kept = self.annotation.marks
        """Marks that are in a file or in use, so that leaving them loses nothing."""
        question = QLabel("Do all these classes share the same parts (as all birds have head, wings, tail)?")
        question.setWordWrap(True)
        self.name, self.gloss, self.examples, self.message = QLabel(), QLabel(), QLabel(), QLabel()
        self.name.setStyleSheet("font-size: 18px; font-weight: 600;")
        for label in (self.gloss, self.examples, self.message):
            label.setWordWrap(True)
        self.examples.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.bar = QProgressBar()
        self.bar.setAccessibleName("Classes decided")
        self.hom = QPushButton("Same parts: hom (O)")
        self.het = QPushButton("Different parts: het (E)")
        undo, restart = QPushButton("Undo (Backspace)"), QPushButton("Start over")
        load, save, use = QPushButton("Load…"), QPushButton("Save…"), QPushButton("Use as superset table")
        use.setDefault(True)
        self.hom.clicked.connect(lambda: self._mark("hom"))
        self.het.clicked.connect(lambda: self._mark("het"))
        undo.clicked.connect(self._undo)
        restart.clicked.connect(self._ask_restart)
        for button in (undo, restart, load, save):
            button.setAutoDefault(False)  # Enter is for the buttons that decide
        load.clicked.connect(self._ask_load)
        save.clicked.connect(self._ask_save)
        use.clicked.connect(self.use)
        layout = QVBoxLayout(self)
        for widget in (question, self.name, self.gloss):
            layout.addWidget(widget)
        layout.addWidget(self.examples, 1)
        layout.addWidget(self.bar)
        layout.addWidget(self.message)
        for buttons in ((self.hom, self.het, undo), (restart, load, save, use)):
            row = QHBoxLayout()
            for button in buttons:
                row.addWidget(button)
            layout.addLayout(row)
        self._show()

    def _show(self, message: str = "") -> None:
        node, progress = self.annotation.current, self.annotation.progress
        self.bar.setRange(0, progress.total)
        self.bar.setValue(progress.settled)
        self.bar.setFormat(f"%v of %m classes decided, {progress.supersets} supersets")
        self.message.setText(message)
        for button in (self.hom, self.het):
            button.setEnabled(node is not None)
        if node is None:
            self.name.setText("All classes are decided")
            self.gloss.setText("")
            self.examples.setText("Use the table, or save it.")
            return
        self.name.setText(f"{node.name} · {counted(len(node.classes), 'class', 'classes')}")
        self.gloss.setText(node.gloss)
        names = [self._hub.scene.classes[i].name for i in node.classes]
        self.examples.setText(", ".join(names[:40]) + (", …" if len(names) > 40 else ""))

    def _mark(self, mark: str) -> None:
        if node := self.annotation.current:
            self.annotation.mark(node.key, mark)  # type: ignore[arg-type]
            self._show()

    def _undo(self) -> None:
        key = self.annotation.undo()
        self._show("" if key else "there is nothing to undo")

    def _ask_restart(self) -> None:
        if self._may_lose("Start over"):
            self.annotation = Annotation(self.annotation.hierarchy)
            self._show()

    def _may_lose(self, title: str) -> bool:
        """Whether the marks at hand are kept somewhere, or may go."""
        marks = self.annotation.marks
        if marks in (self._kept, {}):
            return True
        answers = QMessageBox.StandardButton
        question = f"{counted(len(marks), 'mark')} that aren't saved would be lost. Continue?"
        return QMessageBox.question(self, title, question, answers.Yes | answers.No, answers.No) == answers.Yes

    def reject(self) -> None:
        """Close; marks that are kept nowhere are asked about."""
        if self._may_lose("Close"):
            super().reject()

    def load(self, path: str) -> None:
        """Go on with saved marks."""
        try:
            self.annotation = Annotation.load(path, self.annotation.hierarchy)
        except CalmError as error:
            self._show(str(error))
        else:
            self._kept = self.annotation.marks
            self._show(f"loaded {Path(path).name}")

    def save(self, path: str) -> None:
        """Save the marks."""
        try:
            self.annotation.save(path, self._hub.workspace.state.files)
        except CalmError as error:
            self._show(str(error))
        else:
            self._kept = self.annotation.marks
            remember_folder(self._settings, "annotation", path)
            self._show(f"saved {Path(path).name}")

    def _folder(self) -> str:
        return start_folder(self._settings, "annotation", self._hub.workspace.state.picture)

    def _ask_load(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Load annotation", self._folder(), _FILTER)
        if path and self._may_lose("Load annotation"):
            self.load(path)

    def _ask_save(self) -> None:
        start = str(Path(self._folder()) / "supersets.json")
        if path := ask_where_to_save(self, "Save annotation", start, _FILTER):
            self.save(path)

    def use(self) -> None:
        """Make the marks the checkpoint's superset table and close."""
        self._hub.workspace.set_hierarchy(self.annotation.hierarchy, self.annotation.supersets)
        self.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_O:
                self._mark("hom")
            case Qt.Key.Key_E:
                self._mark("het")
            case Qt.Key.Key_Backspace:
                self._undo()
            case _:
                super().keyPressEvent(event)
