"""Asks what a file of another program doesn't say."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from calm_gui.errors import CalmError
from calm_gui.model.answers import Answers, AnswersNeeded
from calm_gui.model.class_names import read_class_names
from calm_gui.session.workspace import Workspace

__all__ = ["AnswersDialog"]

_CHOICES: dict[str, tuple[str, tuple[tuple[str, Any], ...]]] = {
    "method": ("Method", (("CALM-EM", "calm-em"), ("CALM-ML", "calm-ml"), ("CAM", "cam"))),
    "saliency_activation": ("Saliency activation", (("ReLU", "relu"), ("softplus", "softplus"))),
    "large_feature_map": ("Cells at 224 pixels", (("28 x 28", True), ("14 x 14", False))),
    "architecture": ("Network", ()),
    "averaged": ("Weights", (("the slow average (EMA)", True), ("as trained", False))),
}


class AnswersDialog(QDialog):
    """One form with the most likely answers chosen; accepting it opens the checkpoint with them.

    Parameters
    ----------
    workspace : Workspace
    checkpoint : str
        Key (path) of the file.
    question : AnswersNeeded
    parent : QWidget, optional

    Attributes
    ----------
    choices : dict of str to QComboBox
        By attribute of `Answers`; only what is open, or depends on it.
    names : tuple of str or None
        Class names that were read from a file.
    """

    def __init__(
        self, workspace: Workspace, checkpoint: str, question: AnswersNeeded, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(f"What is {Path(checkpoint).name}?")
        self._workspace, self._checkpoint, self._guess = workspace, checkpoint, question.guess
        self._count = question.class_count
        self.names: tuple[str, ...] | None = None
        self.choices: dict[str, QComboBox] = {}
        text = QLabel("The file doesn't say what it is. Your choice is remembered and written into every export.")
        text.setWordWrap(True)
        form = QFormLayout()
        for key in question.open_questions:
            self._add_choice(form, key, *_CHOICES[key])
        if self._count:
            self._add_class_names(form)
        self.preview = QLabel(" \n" * 4)
        self.preview.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        try_out = QPushButton("&Preview")
        try_out.setToolTip("The five most probable classes of the open picture, with these answers")
        try_out.clicked.connect(self.show_preview)
        form.addRow(try_out, self.preview)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Open | QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(text)
        layout.addLayout(form)
        layout.addWidget(buttons)

    def _add_choice(self, form: QFormLayout, key: str, label: str, options: Sequence[tuple[str, Any]]) -> None:
        box = QComboBox()
        box.setAccessibleName(label)
        guess = getattr(self._guess, key)
        others = ((str(guess), guess),) if options and guess not in (None, *(value for _, value in options)) else ()
        for shown, value in (*options, *others):
            box.addItem(shown, value)
        box.setCurrentIndex(max(0, box.findData(getattr(self._guess, key))))
        if not options:
            box.setEditable(True)
            box.setEditText(getattr(self._guess, key) or "")
        self.choices[key] = box
        form.addRow(label, box)
        if key == "method":
            box.currentIndexChanged.connect(lambda _: self._follow_method())

    def _add_class_names(self, form: QFormLayout) -> None:
        guessed = self._guess.classes
        self._named = QLabel(f"{len(guessed)} names, {guessed[0]}, …" if guessed else f"class 0 to {self._count - 1}")
        choose = QPushButton("&Names from a file…")
        choose.clicked.connect(self._choose_names)
        row = QHBoxLayout()
        row.addWidget(self._named, 1)
        row.addWidget(choose)
        form.addRow(f"{self._count} classes", row)

    def _follow_method(self) -> None:
        if activation := self.choices.get("saliency_activation"):
            activation.setEnabled(self.choices["method"].currentData() != "cam")

    def _choose_names(self) -> None:
        path, _ = QFileDialog.getOpenFileName(
            self, "Class names", str(Path(self._checkpoint).parent), "Lists (*.txt *.json *.csv);;All files (*)"
        )
        if path:
            self.read_names(path)

    def read_names(self, path: str) -> None:
        """Take class names from a file, or say why not."""
        try:
            names = read_class_names(path)
        except CalmError as error:
            self._named.setText(str(error))
            return
        if len(names) != self._count:
            self._named.setText(f"{Path(path).name} has {len(names)} names, the checkpoint {self._count} classes")
            return
        self.names = names
        self._named.setText(f"{names[0]}, {names[1]}, …" if len(names) > 1 else names[0])

    @property
    def answers(self) -> Answers:
        """What is chosen."""
        given: dict[str, Any] = {
            key: box.currentText() if box.isEditable() else box.currentData() for key, box in self.choices.items()
        }
        chosen = Answers(**given, classes=self.names)
        return chosen.over(self._guess)

    def show_preview(self) -> None:
        """Load the checkpoint with these answers on the worker and show what it predicts."""
        self.preview.setText("loading …" + "\n " * 4)
        self._workspace.compute.trials.preview(self._checkpoint, self.answers, self._show)

    def _show(self, text: str) -> None:
        try:
            self.preview.setText(text)
        except RuntimeError:
            return  # the dialog was closed while the worker was loading

    def accept(self) -> None:
        """Open the checkpoint with the answers."""
        super().accept()
        self._workspace.open_checkpoint(self._checkpoint, **asdict(self.answers))
