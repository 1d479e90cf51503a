"""What the chosen checkpoint is, and where it computes."""

import json
from pathlib import Path

from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from calm_gui.api import bundled_checkpoints
from calm_gui.qt.hub import Hub

__all__ = ["CheckpointDialog"]


class CheckpointDialog(QDialog):
    """Metadata, classes, training, file hash, device."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Checkpoint")
        self.resize(640, 560)
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
        self.device = QComboBox()
        self.device.setAccessibleName("Device")
        devices = ["cpu"]
        if workspace.compute.models:  # torch is there, so asking it costs nothing
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
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addWidget(QLabel(f"Training of {Path(key).name}"))
        layout.addWidget(training, 1)
        layout.addWidget(buttons)
