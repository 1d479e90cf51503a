"""Making a CALM of the classifier at hand: of which pictures, what is trained, and where it is kept."""

from pathlib import Path

from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from calm_gui.errors import CalmError
from calm_gui.qt.adaptation import Adaptation
from calm_gui.qt.dialogs.folders import start_folder
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.render.naming import counted
from calm_gui.session.adaptation import WHAT, AdaptationPlan, adaptation_folder
from calm_gui.session.picture_files import pictures_in

__all__ = ["AdaptDialog"]

_GOOD_NUMBER = 100
"""Fewer pictures give rough maps."""


class AdaptDialog(QDialog):
    """Asks how, and starts `Adaptation`; the run goes on beside the window.

    Parameters
    ----------
    hub : Hub
    settings : Settings
    adaptation : Adaptation
    """

    def __init__(self, hub: Hub, settings: Settings, adaptation: Adaptation, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Make it a CALM")
        self.resize(600, 300)
        self.setMinimumSize(480, 300)  # wrapped text claims less height than it takes
        self._workspace, self._settings, self._adaptation = hub.workspace, settings, adaptation
        self._checkpoint = hub.workspace.state.selection.checkpoint
        self._open = hub.workspace.state.pictures
        name = Path(self._checkpoint).name
        about = QLabel(
            f"{name} becomes a checkpoint whose maps are probabilities. It learns from pictures where {name} sees its "
            "classes; no labels are needed. The new checkpoint opens next to the old one, which stays as it is."
        )
        about.setWordWrap(True)
        self.folder = QLineEdit()
        self.folder.setPlaceholderText(f"none: {counted(len(self._open), 'open picture')}")
        self.folder.setAccessibleName("Folder of pictures")
        self.what = QComboBox()
        self.what.setAccessibleName("What is trained")
        for key, words in WHAT.items():
            self.what.addItem(words, key)
        self.out = QLineEdit()
        self.out.setAccessibleName("Folder of the run")
        self.message = QLabel()
        self.message.setWordWrap(True)
        form = QFormLayout()
        form.addRow("&Pictures", self._with_choice(self.folder, "Folder of pictures to learn from"))
        form.addRow("&Train", self.what)
        form.addRow("&Kept in", self._with_choice(self.out, "Folder of the run"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.start = buttons.addButton("&Start", QDialogButtonBox.ButtonRole.AcceptRole)
        self.start.setDefault(True)
        buttons.accepted.connect(self.run)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(about)
        layout.addLayout(form)
        layout.addWidget(self.message)
        layout.addStretch(1)
        layout.addWidget(buttons)
        self._own_place = False
        self.out.textEdited.connect(self._place_chosen)
        self.folder.textChanged.connect(self._suggest)
        self.what.currentIndexChanged.connect(self._suggest)
        self._suggest()
        self.folder.setFocus()

    def _with_choice(self, field: QLineEdit, title: str) -> QWidget:
        """A field with a button that chooses a folder."""
        row = QWidget()
        layout = QHBoxLayout(row)
        layout.setContentsMargins(0, 0, 0, 0)
        choose = QPushButton("Choose…")
        choose.setAutoDefault(False)
        choose.setAccessibleName(f"Choose: {title}")
        layout.addWidget(field, 1)
        layout.addWidget(choose)
        row.setFocusProxy(field)

        def ask() -> None:
            start = field.text() or start_folder(self._settings, "pictures", self._workspace.state.picture)
            if path := QFileDialog.getExistingDirectory(self, title, start):
                field.setText(path)
                if field is self.out:
                    self._place_chosen()

        choose.clicked.connect(ask)
        return row

    def _place_chosen(self) -> None:
        self._own_place = True
        self._say()

    @property
    def _pictures(self) -> tuple[str, ...]:
        """Paths of the pictures, or of their folder."""
        folder = self.folder.text().strip()
        return (str(Path(folder).expanduser().absolute()),) if folder else self._open

    @property
    def plan(self) -> AdaptationPlan:
        """What is asked for now."""
        out = Path(self.out.text().strip()).expanduser().absolute()
        what = str(self.what.currentData())
        return AdaptationPlan(self._checkpoint, self._pictures, out, what, self._workspace.compute.device)

    def _suggest(self) -> None:
        """Name the place that is this wish's own, unless another was chosen."""
        if not self._own_place:
            info = self._workspace.compute.infos[self._checkpoint]
            self.out.setText(
                str(adaptation_folder(self._checkpoint, info, self._pictures, str(self.what.currentData())))
            )
        self._say()

    def _say(self) -> None:
        words = []
        if not self.folder.text().strip() and len(self._open) < _GOOD_NUMBER:
            words.append("With so few pictures the maps will be rough; a folder of some hundreds is better.")
        if self.out.text().strip() and self.plan.is_begun:
            words.append("The run in this folder continues where it stopped.")
        self.message.setText(" ".join(words))

    def run(self) -> None:
        """Start and close, or say why not."""
        plan = self.plan
        try:
            if not self.out.text().strip():
                raise CalmError("the run needs a folder; choose one")
            if len(pictures_in(plan.pictures)) < 2:
                where = self.folder.text().strip() or "the window"
                raise CalmError(f"training needs at least two pictures, and {where} has fewer; choose a folder")
            self._adaptation.start(plan)
        except OSError as error:
            self.message.setText(f"{error.filename} can't be opened: {error.strerror}")
        except CalmError as error:
            self.message.setText(str(error))
        else:
            self.accept()
