"""What is set for all sessions, on one page: look, numbers, device, what is kept on disk, keys."""

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.qt.theme import DARK, PAIRS, apply_theme, current_pair, current_theme
from calm_gui.qt.widgets.calm_fields import CalmComboBox, CalmDoubleSpinBox, CalmSpinBox
from calm_gui.qt.widgets.numbers import MOST_DECIMALS, decimals, write_decimals
from calm_gui.session.explanation_files import MOST_MEGABYTES, ExplanationFiles, explanation_folder

__all__ = ["SettingsDialog"]


class SettingsDialog(QDialog):
    """Each change counts at once and is kept.

    Signals
    -------
    theme_chosen : bool
        Dark.
    keys_wanted
        The page of keys shall be shown.
    """

    theme_chosen = Signal(bool)
    keys_wanted = Signal()

    def __init__(self, hub: Hub, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Settings")
        self._hub, self._settings = hub, settings
        self.theme = QComboBox()
        self.theme.addItems(["Light", "Dark"])
        self.theme.setCurrentIndex(int(current_theme().name == DARK.name))
        self.theme.currentIndexChanged.connect(lambda index: self.theme_chosen.emit(bool(index)))
        self.letters = CalmDoubleSpinBox()
        self.letters.setRange(7, 24)
        self.letters.setDecimals(1)
        self.letters.setSuffix(" pt")
        self.letters.setValue(QApplication.font().pointSizeF())
        self.letters.setKeyboardTracking(False)
        self.letters.valueChanged.connect(self._set_letters)
        self.colours = CalmComboBox()
        for key, pair in PAIRS.items():
            self.colours.addItem(pair.title, key)
        self.colours.setCurrentIndex(self.colours.findData(current_pair()))
        self.colours.setToolTip(
            "Colour-blind people can distinguish the two colours of each pair; maps of A − B use matching colours"
        )
        self.colours.currentIndexChanged.connect(lambda _: self._set_colours(self.colours.currentData()))
        self.decimals = CalmSpinBox()
        self.decimals.setRange(2, MOST_DECIMALS)
        self.decimals.setSuffix(" decimals")
        self.decimals.setValue(decimals())
        self.decimals.setToolTip("Of probabilities in the window; tooltips show all decimals, exports three")
        self.decimals.valueChanged.connect(self._set_decimals)
        self.device = QLabel(hub.workspace.compute.device)
        self.device.setToolTip("Change it in File > Checkpoint and device")
        self.cache = CalmSpinBox()
        self.cache.setRange(0, 1_000_000)
        self.cache.setSingleStep(500)
        self.cache.setSuffix(" MB")
        self.cache.setSpecialValueText("off")
        self.cache.setKeyboardTracking(False)
        self.cache.setValue(int(settings.number("cache megabytes", MOST_MEGABYTES)))
        self.cache.setToolTip("Pictures that were explained before are shown at once; 0 keeps nothing")
        self.cache.valueChanged.connect(self._set_cache)
        self.held = QLabel()
        self.held.setObjectName("muted")
        self.clear = QPushButton("Clear")
        self.clear.clicked.connect(self._clear)
        keys = QPushButton("Change keys…")
        keys.clicked.connect(self.keys_wanted)
        folder = QPushButton("Open folder")
        folder.clicked.connect(self._open_folder)
        form = QFormLayout()
        form.addRow("Theme", self.theme)
        form.addRow("Letters", self.letters)
        form.addRow("A and B", self.colours)
        form.addRow("Numbers", self.decimals)
        form.addRow("Device", self.device)
        kept = QHBoxLayout()
        for part in (self.cache, self.held, self.clear, folder):
            kept.addWidget(part)
        form.addRow("Keep explanations", kept)
        form.addRow("Keys", keys)
        for widget, name in (
            (self.theme, "Theme"),
            (self.letters, "Text size"),
            (self.colours, "Colours of A and B"),
            (self.decimals, "Decimals of probabilities"),
            (self.cache, "Space on disk"),
        ):
            widget.setAccessibleName(name)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        for button in (*buttons.findChildren(QPushButton), keys, folder, self.clear):
            button.setAutoDefault(False)  # Enter ends the typing of a number
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addStretch(1)
        layout.addWidget(buttons)
        self._show_held()

    @property
    def files(self) -> ExplanationFiles:
        """What keeps explanations."""
        return self._hub.workspace.compute.disk.files or ExplanationFiles(explanation_folder())

    def _show_held(self) -> None:
        self.held.setText(f"{self.files.size() / 1e6:.0f} MB used")

    def _set_letters(self, size: float) -> None:
        font = QApplication.font()
        font.setPointSizeF(size)
        QApplication.setFont(font)
        self._settings.set("letters", size)

    def _set_colours(self, pair: str) -> None:
        """Give A and B other colours, and maps of their difference those that go with them."""
        apply_theme(current_theme(), pair)
        self._settings.set("colours", pair)
        self._hub.workspace.update_view(undoable=False, diverging=PAIRS[pair].diverging)
        self._hub.scene_changed.emit(self._hub.scene)

    def _set_decimals(self, count: int) -> None:
        write_decimals(count)
        self._settings.set("decimals", count)
        self._hub.scene_changed.emit(self._hub.scene)

    def _set_cache(self, megabytes: int) -> None:
        self._settings.set("cache megabytes", megabytes)
        self._hub.workspace.compute.disk.files = ExplanationFiles(self.files.folder, 1_000_000 * megabytes)
        self.files.fit()
        self._show_held()

    def _clear(self) -> None:
        self.files.clear()
        self._show_held()

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.files.folder)))
