"""Batches from the window: the engine of calm-explain over the open pictures, with progress, cancel and questions."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from calm_gui.core.readings import ATTRIBUTION, Reading
from calm_gui.errors import CalmError
from calm_gui.methods import Method
from calm_gui.qt.hub import Hub
from calm_gui.qt.number_table import NumberTable
from calm_gui.qt.settings import Settings
from calm_gui.session.expression import class_key
from calm_gui.session.jobs import Job
from calm_gui.session.pane import CLASSIFIER_MAP, Shows, shows_text
from calm_gui.session.scene_figure import view_spec

if TYPE_CHECKING:
    from calm_gui.session.picture_result import PictureResult

__all__ = ["BatchDialog"]

_FORMATS = ("png", "pdf", "svg", "overlay", "npz", "csv")
_EXAMPLE = "share_in_box < 0.5 and p > 0.5"


class BatchDialog(QDialog):
    """Explains all open pictures, writes what is ticked, and opens the pictures that a question is true of."""

    def __init__(self, hub: Hub, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Batch")
        self.resize(860, 600)
        self._hub = hub
        self._workspace = hub.workspace
        self._settings = settings
        self.results: list[PictureResult] = []
        self._job: Job | None = None
        pictures = self._workspace.state.pictures
        self.out = QLineEdit(settings.text("batch folder"))
        self.out.setAccessibleName("Folder")
        browse = QPushButton("Choose…")
        browse.clicked.connect(self._browse)
        self.readings = QComboBox()
        self.readings.setAccessibleName("Readings")
        self.readings.addItems(["the panes' readings", "the active pane's reading"])
        self.targets = QComboBox()
        self.targets.setAccessibleName("Target")
        for text, key in (("the target as chosen now", ""), ("each picture's prediction", "@predicted")):
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
        self.start, self.stop = QPushButton("Start"), QPushButton("Cancel")
        self.start.setDefault(True)
        self.start.clicked.connect(self.run)
        self.stop.clicked.connect(self.cancel)
        self.bar = QProgressBar()
        self.bar.setRange(0, max(1, len(pictures)))
        self.bar.setAccessibleName("Progress")
        self.message = QLabel()
        self.message.setWordWrap(True)
        self.table = NumberTable("Summary")
        self.table.setSortingEnabled(True)
        self.question = QLineEdit()
        self.question.setPlaceholderText(f"which pictures? for example {_EXAMPLE}")
        self.question.setAccessibleName("Question over the summary's columns")
        self.question.returnPressed.connect(self.ask)
        ask = QPushButton("Open these pictures")
        ask.clicked.connect(self.ask)
        top, below = QHBoxLayout(), QHBoxLayout()
        for widget, stretch in ((self.start, 0), (self.stop, 0), (self.bar, 1)):
            top.addWidget(widget, stretch)
        below.addWidget(self.question, 1)
        below.addWidget(ask)
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addLayout(top)
        layout.addWidget(self.message)
        layout.addWidget(self.table, 1)
        layout.addLayout(below)
        self._show_running(False)

    def _browse(self) -> None:
        path = QFileDialog.getExistingDirectory(self, "Folder for the batch", self.out.text())
        if path:
            self.out.setText(path)

    def _show_running(self, running: bool) -> None:
        self.start.setEnabled(not running)
        self.stop.setEnabled(running)

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
        """Start the batch on the worker."""
        from calm_gui.session.batch import BatchPlan, run_batch, write_summary
        from calm_gui.session.output_names import free_name
        from calm_gui.session.request import Request

        out, key = Path(self.out.text()).expanduser(), self._workspace.state.selection.checkpoint
        model = self._workspace.compute.models.get(key)
        if model is None:
            self.message.setText("the checkpoint is still being loaded; wait a moment")
            return
        try:
            if not self.out.text():
                raise OSError("no folder is chosen")
            out.mkdir(exist_ok=True)
        except OSError as error:
            self.message.setText(f"{self.out.text() or 'the folder'} can't be used: {error.strerror or error}")
            return
        try:
            plan = BatchPlan(
                Request(self._readings(), (self._target(),)),
                tuple(kind for kind, box in self.formats.items() if box.isChecked()),
                view_spec(self._hub.scene, "panes"),
            )
        except CalmError as error:
            self.message.setText(str(error))
            return
        self._settings.set("batch folder", str(out))
        pictures, truth = self._workspace.state.pictures, self._workspace.truth

        def work(job: Job) -> "list[PictureResult]":
            found = []
            for result in run_batch(model, pictures, plan, out, truth=truth):
                found.append(result)
                job.progress(f"{len(found)} {Path(result.path).name}")
                job.check()
            rows = [row for result in found for row in result.rows]
            write_summary(rows, out / free_name("summary.csv", out))
            return found

        self._show_running(True)
        self.message.setText("")
        self._job = Job("batch", work, self._done, self._failed, self._progress, urgency=3)
        self._workspace.compute.runner.submit(self._job)

    def cancel(self) -> None:
        """Stop after the picture at hand; files that are written stay."""
        if self._job is not None:
            self._workspace.compute.runner.cancel("batch")
            self._job = None
            self._show_running(False)
            self.message.setText(f"cancelled after {self.bar.value()} pictures; what was written stays")

    def _progress(self, text: str) -> None:
        count, _, name = text.partition(" ")
        self.bar.setValue(int(count))
        self.message.setText(name)

    def _done(self, results: "list[PictureResult]") -> None:
        self._job = None
        self.results = results
        self._show_running(False)
        bad = [result for result in results if result.error]
        words = f"{len(results) - len(bad)} pictures done"
        if bad:
            words += f", {len(bad)} failed: " + "; ".join(result.error for result in bad[:3])
        self.message.setText(words)
        rows = [row for result in results for row in result.rows]
        if rows:
            columns = list(rows[0])
            self.table.rows.show(columns, [["" if row[c] is None else row[c] for c in columns] for row in rows])
            self.table.resizeColumnsToContents()

    def _failed(self, error: Exception) -> None:
        self._job = None
        self._show_running(False)
        self.message.setText(str(error))

    def ask(self) -> None:
        """Open the pictures that the question is true of as the film strip."""
        from calm_gui.session.question import matching, what_is_empty

        rows = [row for result in self.results for row in result.rows]
        if not rows:
            self.message.setText("run the batch first; questions are about its summary")
            return
        try:
            found = matching(rows, self.question.text())
        except CalmError as error:
            self.message.setText(str(error))
            return
        ids = {id(row) for row in found}
        paths = [result.path for result in self.results if any(id(row) in ids for row in result.rows)]
        empty = what_is_empty(rows, self.question.text())
        self.message.setText(f"{len(paths)} of {len(self.results)} pictures" + (f"; {empty}" if empty else ""))
        if paths:
            self._workspace.open_pictures(paths)

    def reject(self) -> None:
        """Close; a running batch is cancelled."""
        self.cancel()
        super().reject()

    def keyPressEvent(self, event: Any) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.question.hasFocus():
            return
        super().keyPressEvent(event)
