"""What the chosen checkpoint is, what was answered for it, where it computes; and which others are open."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from calm_gui.api import bundled_checkpoints
from calm_gui.model.info import is_ours
from calm_gui.qt.hub import Hub

__all__ = ["CheckpointDialog"]


class CheckpointDialog(QDialog):
    """Metadata, answers, classes, training, file hash, device, and the open checkpoints, which can be closed."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Checkpoint")
        self.resize(640, 620)
        self._hub = hub
        workspace = hub.workspace
        key = workspace.state.selection.checkpoint
        info, model = workspace.compute.infos.get(key), workspace.compute.models.get(key)
        form = QFormLayout()

        def row(name: str, value: str) -> None:
            label = QLabel(value)
            label.setWordWrap(True)
            label.setTextInteractionFlags(label.textInteractionFlags().TextSelectableByMouse)
            form.addRow(name, label)

        bundled = {str(path.absolute()): name for name, path in bundled_checkpoints().items()}
        row("File", f"bundled with the program: {bundled[key]}" if key in bundled else key)
        if model is not None:
            row("SHA-256", model.sha256)
        if info is not None:
            row("Method", info.method)
            row("Backbone", f"{info.backbone}, output stride {info.output_stride}{', dilated' if info.dilated else ''}")
            row("Saliency", info.saliency_activation or "none (CAM)")
            if info.is_calm:
                row("Context", f"{info.context} of the features" if info.context != "none" else "none, as in the paper")
                on = f"calibrated on {info.calibrated_on} (temperature {info.temperature:g})"
                row("p", on if info.calibrated_on else "not calibrated")
            size = info.input
            row("Input", f"{size.size} x {size.size} pixels, {size.resize}, {size.interpolation}")
            if model is not None:
                row("Native grid", f"{model.grid[0]} x {model.grid[1]} cells")
            named = sum(c.wnid is not None for c in info.classes)
            row("Classes", f"{len(info.classes)}, {named} with a wnid")
            row("Hierarchy", f"{len(info.hierarchy)} nodes" if info.hierarchy else "none")
            row("Supersets", str(len(info.supersets)))
            row("Licence", info.licence or "not stated")
            if info.assumed:
                row("Assumed", "; ".join(info.assumed))
        self.change = QPushButton("Change &answers…")
        self.change.setToolTip("Change your answers about this file: method, activation, cells, names of classes")
        self.change.clicked.connect(self._change_answers)
        if model is not None and model.answers:
            row("Answered", _answered(model.answers))
        if Path(key).is_file() and not is_ours(key):
            form.addRow(self.change)
        self.device = QComboBox()
        self.device.setAccessibleName("Device")
        devices = ["cpu"]
        if len(workspace.compute.models):  # torch is there, so asking it costs nothing
            from calm_gui.model.device import available_devices

            devices = available_devices()
        self.device.addItems(["auto", *devices])
        self.device.setCurrentText(workspace.compute.device)
        self.device.activated.connect(lambda _: workspace.set_device(self.device.currentText()))
        form.addRow("Device", self.device)
        if model is not None:
            from calm_gui.model.device import describe_device

            row("In use", describe_device(model.device))
        training = QPlainTextEdit(json.dumps(dict(info.training), indent=1, ensure_ascii=False) if info else "")
        training.setReadOnly(True)
        training.setAccessibleName("Training")
        self.opened = QListWidget()
        self.opened.setAccessibleName("Open checkpoints")
        self.opened.setMaximumHeight(90)
        self.opened.currentRowChanged.connect(lambda _: self._enable())
        self.close_one = QPushButton("&Close it")
        self.close_one.setToolTip("Close the checkpoint and its panes")
        self.close_one.clicked.connect(self._close_one)
        others = QHBoxLayout()
        others.addWidget(self.opened, 1)
        others.addWidget(self.close_one, 0, Qt.AlignmentFlag.AlignTop)
        form.addRow("Open", others)
        self._list_opened()
        for button in (self.change, self.close_one):
            button.setAutoDefault(False)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addWidget(QLabel(f"Training of {Path(key).name}"))
        layout.addWidget(training, 1)
        layout.addWidget(buttons)

    def _list_opened(self) -> None:
        self.opened.clear()
        loaded = self._hub.workspace.compute.models
        for key, name in self._hub.scene.checkpoint_names.items():
            item = QListWidgetItem(name if key in loaded else f"{name} (not in memory)")
            item.setData(Qt.ItemDataRole.UserRole, key)
            item.setToolTip(key)
            self.opened.addItem(item)
        self.opened.setCurrentRow(0)

    def _chosen_key(self) -> str:
        item = self.opened.currentItem()
        return str(item.data(Qt.ItemDataRole.UserRole)) if item is not None else ""

    def _enable(self) -> None:
        chosen = self._chosen_key()
        self.close_one.setEnabled(bool(chosen) and chosen != self._hub.scene.state.selection.checkpoint)

    def _close_one(self) -> None:
        self._hub.workspace.close_checkpoint(self._chosen_key())
        self._list_opened()

    def _change_answers(self) -> None:
        """Ask anew what the file doesn't say, with what was answered as the first choice."""
        key = self._hub.scene.state.selection.checkpoint
        self.accept()
        self._hub.workspace.ask_again(key)


def _answered(answers: Mapping[str, Any]) -> str:
    """Answers in words; the names of classes are told by their hash alone, as in exports."""
    said = {name: str(value)[:12] + "…" if name == "classes" else value for name, value in answers.items()}
    return "; ".join(f"{name.replace('_', ' ')}: {value}" for name, value in said.items())
