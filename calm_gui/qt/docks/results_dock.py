"""The dock of a batch's results."""

from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout

from calm_gui.qt.docks.dock import DOCKS, Dock, DockPanel
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.session.scene import Scene

__all__ = ["RESULTS"]


class ResultsPanel(DockPanel):
    """Starts a batch over the open pictures."""

    def __init__(self, hub: Hub, settings: Settings) -> None:
        super().__init__()
        self._hub, self._settings = hub, settings
        self.words = QLabel()
        self.words.setObjectName("muted")
        self.run = QPushButton("New run…")
        self.run.clicked.connect(self._open)
        row = QHBoxLayout()
        row.addWidget(self.words, 1)
        row.addWidget(self.run)
        layout = QVBoxLayout(self)
        layout.addLayout(row)
        layout.addStretch(1)

    def show_scene(self, scene: Scene) -> None:
        """Say how many pictures a run would explain."""
        count = len(scene.state.pictures)
        self.words.setText(f"A run explains all {count} open pictures and writes a table." if count else "")
        self.run.setEnabled(count > 0)

    def _open(self) -> None:
        from calm_gui.qt.batch_dialog import BatchDialog

        dialog = BatchDialog(self._hub, self._settings, self.window())
        dialog.exec()
        dialog.deleteLater()


RESULTS = DOCKS.register(
    Dock(
        key="results",
        title="Results",
        tip="What the last run over many pictures found",
        area="bottom",
        size=286,
        least=120,
        make=ResultsPanel,
    )
)
