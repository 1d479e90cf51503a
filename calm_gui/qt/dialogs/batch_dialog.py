"""What a run over all open pictures shall make; its results come in a dock of their own."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import (
    QCheckBox,
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

from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.readings import ATTRIBUTION, Reading
from calm_gui.errors import CalmError
from calm_gui.methods import Method
from calm_gui.qt.dialogs.folders import remember_folder, start_folder
from calm_gui.qt.hub import Hub, Progress
from calm_gui.qt.settings import Settings
from calm_gui.render.naming import counted
from calm_gui.session.batch import BatchPlan
from calm_gui.session.batch_run import BatchRun, BatchWork
from calm_gui.session.expression import class_key
from calm_gui.session.pane import CLASSIFIER_MAP, Shows, shows_text
from calm_gui.session.request import Request
from calm_gui.session.scene_figure import view_spec

if TYPE_CHECKING:
    pass

__all__ = ["BatchDialog", "start_run"]

_FORMATS = ("png", "pdf", "svg", "overlay", "npz", "csv")


class BatchDialog(QDialog):
    """Asks what is read of every picture, and which files are written; without files no folder is needed."""

    def __init__(self, hub: Hub, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("New run")
        self.resize(560, 260)
        self._hub = hub
        self._workspace = hub.workspace
        self._settings = settings
        pictures = self._workspace.state.pictures
        self.out = QLineEdit()
        self.out.setPlaceholderText("none: results are kept in the window")
        self.out.setAccessibleName("Folder")
        browse = QPushButton("Choose…")
        browse.clicked.connect(self._browse)
        browse.setAutoDefault(False)  # Return starts
        self.readings = QComboBox()
        self.readings.setAccessibleName("Readings")
        self.readings.addItems(["the panes' readings", "the active pane's reading"])
        self.targets = QComboBox()
        self.targets.setAccessibleName("Target")
        for text, key in (("the target as it is now", ""), ("each picture's prediction", "@predicted")):
            self.targets.addItem(text, key)
        self.targets.addItem("the superset of each prediction", "@superset")
        self.formats = {kind: QCheckBox(kind) for kind in _FORMATS}
        kinds = QHBoxLayout()
        for box in self.formats.values():
            kinds.addWidget(box)
        folder = QHBoxLayout()
        folder.addWidget(self.out, 1)
        folder.addWidget(browse)
        form = QFormLayout()
        form.addRow("Pictures", QLabel(f"{len(pictures)} open"))
        form.addRow("Readings", self.readings)
        form.addRow("Target", self.targets)
        form.addRow("Files", kinds)
        form.addRow("Folder", folder)
        self.message = QLabel()
        self.message.setWordWrap(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.start = buttons.addButton("&Start", QDialogButtonBox.ButtonRole.AcceptRole)
        self.start.setDefault(True)
        self.start.setFocus()
        buttons.accepted.connect(self.run)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addWidget(self.message)
        layout.addStretch(1)
        layout.addWidget(buttons)

    def _browse(self) -> None:
        start = self.out.text() or start_folder(self._settings, "batch", self._hub.scene.state.picture)
        path = QFileDialog.getExistingDirectory(self, "Folder for the batch", start)
        if path:
            self.out.setText(path)

    def _target(self) -> str:
        """The target as `session.request.parse_set` takes it."""
        key = self.targets.currentData()
        if key:
            return str(key)
        scene = self._hub.scene
        terms = scene.state.selection.target.terms
        if all(term.sign == "+" for term in terms) and terms:
            return ",".join(term.key.removeprefix("#") for term in terms)
        return ",".join(class_key(i, scene.classes).removeprefix("#") for i in scene.target)

    def _readings(self) -> tuple[str, ...]:
        scene = self._hub.scene
        own = scene.explanation.own_reading if scene.explanation else ATTRIBUTION
        contents = scene.panes if self.readings.currentIndex() == 0 else (scene.active,)
        shown = [c.shows for c in contents if isinstance(c.shows, Method) or self._answers(c.shows)]
        return tuple(dict.fromkeys(map(shows_text, shown))) or ((own.key,) if own else (shows_text(CLASSIFIER_MAP),))

    def _answers(self, shows: Shows) -> bool:
        """Whether the batch's checkpoint can answer a reading; a pane may show it under another one."""
        explanation = self._hub.scene.explanation
        return isinstance(shows, Reading) and not (explanation and shows.refusal(explanation))

    def run(self) -> None:
        """Start the run and close; it goes on in the dock of results."""
        if any(run.running for run in self._hub.batches):
            self.message.setText("a run is in progress; cancel it first, or wait")
            return
        formats = tuple(kind for kind, box in self.formats.items() if box.isChecked())
        out = Path(self.out.text()).expanduser() if self.out.text().strip() else None
        if formats and out is None:
            self.message.setText("files need a folder; choose one, or clear the formats")
            return
        try:
            if out is not None:
                out.mkdir(exist_ok=True)
            plan = BatchPlan(Request(self._readings(), (self._target(),)), formats, view_spec(self._hub.scene, "panes"))
            start_run(self._hub, plan, out)
        except OSError as error:
            self.message.setText(f"{out} can't be used: {error.strerror or error}")
        except CalmError as error:
            self.message.setText(str(error))
        else:
            if out is not None:
                remember_folder(self._settings, "batch", out)
            self.accept()


def start_run(hub: Hub, plan: BatchPlan, out: Path | None) -> BatchRun:
    """Explain all open pictures; the run is the hub's last one.

    Raises
    ------
    ExportError
        If the folder can't be written to.
    """
    workspace, compute = hub.workspace, hub.workspace.compute
    key, pictures = workspace.state.selection.checkpoint, workspace.state.pictures

    def kept(_: str, explanation: AnyExplanation) -> None:
        compute.disk.keep(compute.model_for(key, lambda _: None), compute.device, explanation)

    def told() -> None:
        if run.results and run.results[-1].top:
            best = run.results[-1].top[0]
            compute.predictions[run.results[-1].path, key] = best["index"], best["probability"]
        words = f"Explaining {counted(len(pictures), 'picture')}"
        hub.progressed.emit(Progress(words, len(run.results), len(pictures), run.stop) if run.running else None)
        hub.batch_changed.emit()
        workspace.changed()

    work = BatchWork(
        lambda job: compute.model_for(key, job.progress),
        workspace.scene.source_of(key) or Path(key).stem,
        key,
        pictures,
        plan,
        workspace.truth,
        out,
        kept,
    )
    run = BatchRun(work, compute.runner, told)
    run.start()
    hub.batches.append(run)
    told()
    hub.results_wanted.emit()
    return run
