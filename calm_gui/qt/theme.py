"""Light and dark: one set of colours each, applied as palette and style sheet."""

from typing import NamedTuple

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

import calm_resources

__all__ = [
    "DARK",
    "LIGHT",
    "PAIRS",
    "Pair",
    "Theme",
    "apply_theme",
    "current_pair",
    "current_theme",
    "system_prefers_dark",
]


class Theme(NamedTuple):
    """Colours by their purpose, as ``#rrggbb``."""

    name: str
    window: str
    panel: str
    field: str
    border: str
    text: str
    muted: str
    accent: str
    fill: str
    accent_text: str
    hover: str
    bar: str
    target: str
    contrast: str
    good: str
    bad: str
    canvas: str
    chosen: str


LIGHT = Theme(
    name="light",
    window="#eef0f4",
    panel="#ffffff",
    field="#ffffff",
    border="#d3d8df",
    text="#1a1f26",
    muted="#596372",
    accent="#0f766e",
    fill="#0f766e",
    accent_text="#ffffff",
    hover="#edf1f5",
    bar="#dfe3e9",
    target="#b8342a",
    contrast="#1f5fae",
    good="#1c7c3c",
    bad="#8f5600",
    canvas="#e8ecf0",
    chosen="#e2f1ef",
)

DARK = Theme(
    name="dark",
    window="#14171b",
    panel="#1d2126",
    field="#181b20",
    border="#39404a",
    text="#e8ebef",
    muted="#a0aab7",
    accent="#4cc2b4",
    fill="#1f7a70",
    accent_text="#ffffff",
    hover="#262c34",
    bar="#323943",
    target="#c8483d",
    contrast="#3672c4",
    good="#58c27d",
    bad="#e9ad3f",
    canvas="#14171b",
    chosen="#1d3533",
)


class Pair(NamedTuple):
    """Colours of A and B that go together, in light and dark, and the colours of maps of their difference."""

    title: str
    light: tuple[str, str]
    dark: tuple[str, str]
    diverging: str


PAIRS = {
    "red-blue": Pair("red and blue", (LIGHT.target, LIGHT.contrast), (DARK.target, DARK.contrast), "RdBu"),
    "orange-purple": Pair("orange and purple", ("#a9550a", "#5b3a94"), ("#b65c10", "#8161c4"), "PuOr"),
    "brown-blue": Pair("brown and sky blue", ("#7a4f0c", "#0f6e93"), ("#96661c", "#1b7aa6"), "BrBG"),
}
"""By name, the first at first start. Each differs in lightness or along blue and yellow, which nearly all eyes see."""

_SHEET = """
QWidget {{ color: {text}; }}
QMainWindow, QDialog {{ background: {window}; }}
QToolTip {{ background: {panel}; color: {text}; border: 1px solid {border}; padding: 4px; }}
QMainWindow::separator {{ background: {border}; width: 1px; height: 1px; }}
QMainWindow::separator:hover {{ background: {accent}; }}
QToolBar {{ background: {window}; border: none; spacing: 2px; padding: 4px 2px; }}
QToolButton {{ border: 1px solid transparent; border-radius: 4px; padding: 3px 6px; }}
QToolButton:hover {{ background: {hover}; }}
QToolButton:checked {{ background: {chosen}; border-color: {accent}; }}
QToolButton:focus {{ border-color: {accent}; }}
QToolButton:disabled {{ color: {muted}; }}
QToolButton::menu-indicator {{ image: none; }}
QToolButton#icon {{ padding: 2px; }}
QFrame#line {{ background: {border}; }}
QStatusBar {{ background: {window}; color: {muted}; border-top: 1px solid {border}; }}
QStatusBar::item {{ border: none; }}
QWidget#menuRow {{ background: {window}; }}
QWidget#questionBar {{ background: {panel}; border-top: 1px solid {border}; border-bottom: 1px solid {border}; }}
QPushButton#segment {{ border-radius: 0; border-right-width: 0; padding: 2px 8px; background: {field}; }}
QPushButton#segment:first {{ border-top-left-radius: 4px; }}
QPushButton#segment:checked {{ background: {fill}; color: #ffffff; border-color: {fill}; }}
QPushButton#segment:disabled {{ color: {muted}; background: {window}; }}
QPushButton#segment:hover:!checked {{ background: {hover}; }}
QPushButton#segment[last="true"] {{ border-right-width: 1px; }}
QPushButton#flat, QPushButton#menuItem {{ background: transparent; border: none; padding: 1px 6px; }}
QPushButton#menuItem {{ text-align: left; padding: 5px 6px; }}
QPushButton#flat:hover, QPushButton#menuItem:hover {{ background: {hover}; }}
QPushButton#flat:focus, QPushButton#menuItem:focus {{ border: 1px solid {accent}; }}
QFrame#popup {{ background: {panel}; border: 1px solid {border}; }}
QFrame#dock {{ background: {panel}; }}
QFrame#dockTitle {{ background: {panel}; border-bottom: 1px solid {border}; }}
QFrame#middle {{ background: {window}; }}
QProgressBar {{ background: {bar}; border: none; border-radius: 3px; }}
QProgressBar::chunk {{ background: {fill}; border-radius: 3px; }}
QFrame#panel {{ background: {panel}; border: none; }}
QWidget#paneHead {{ background: {panel}; }}
QListView#film::item:selected {{ background: {chosen}; border: 1px solid {accent}; border-radius: 3px; }}
QFrame#ledger {{ background: {panel}; border-top: 1px solid {border}; }}
QLabel#muted {{ color: {muted}; }}
QLabel#heading {{ font-weight: 600; }}
QLabel#overPicture {{ background: {panel}; border-radius: 4px; }}
QLineEdit, QComboBox, QSpinBox, QDoubleSpinBox {{
    background: {field}; border: 1px solid {border}; border-radius: 5px; padding: 3px 6px;
    selection-background-color: {accent}; selection-color: {accent_text};
}}
QSpinBox, QDoubleSpinBox {{ padding: 1px 6px 2px; }}
QLineEdit {{ placeholder-text-color: {muted}; }}
QLineEdit:focus, QComboBox:focus, QSpinBox:focus, QDoubleSpinBox:focus {{ border-color: {accent}; }}
QComboBox::drop-down {{ border: none; width: 20px; }}
QComboBox::down-arrow {{ image: url({icons}/chevron.png); width: 12px; height: 12px; }}
QComboBox QAbstractItemView {{ background: {panel}; border: 1px solid {border}; selection-background-color: {accent};
    selection-color: {accent_text}; }}
QSpinBox::up-button, QDoubleSpinBox::up-button, QSpinBox::down-button, QDoubleSpinBox::down-button {{
    border: none; background: transparent; width: 18px; }}
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow {{ image: url({icons}/chevron-up.png); width: 10px; height: 10px; }}
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow {{ image: url({icons}/chevron-small.png); width: 10px; height: 10px; }}
QPushButton {{ background: {field}; border: 1px solid {border}; border-radius: 5px; padding: 4px 12px; }}
QPushButton:hover {{ background: {hover}; }}
QPushButton:focus {{ border-color: {accent}; }}
QPushButton#primary {{ background: {fill}; color: #ffffff; border-color: {fill}; }}
QPushButton:default {{ background: {fill}; color: #ffffff; border-color: {fill}; }}
QPushButton:disabled {{ color: {muted}; background: {window}; }}
QTabWidget::pane {{ border: none; }}
QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
QTabBar {{ qproperty-drawBase: 0; }}
QTabBar::tab {{ padding: 5px 12px; color: {muted}; border-bottom: 2px solid transparent; }}
QTabBar::tab:selected {{ color: {text}; border-bottom-color: {accent}; }}
QTabBar::tab:focus {{ color: {accent}; }}
QTreeView, QListView, QTableView, QScrollArea {{ background: {panel}; border: none; outline: none; }}
QTreeView::item, QListView::item {{ padding: 1px 0; }}
QTableView#results::item {{ padding: 0 6px; }}
QTreeView::item:hover, QListView::item:hover {{ background: {hover}; }}
QTreeView::item:selected, QListView::item:selected, QTableView::item:selected {{
    background: {hover}; color: {text}; }}
QHeaderView::section {{ background: {panel}; color: {muted}; border: none; border-bottom: 1px solid {border};
    padding: 3px 4px; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0; }}
QScrollBar::handle {{ background: {border}; border-radius: 4px; min-height: 24px; min-width: 24px; margin: 1px; }}
QScrollBar::handle:hover {{ background: {muted}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
QMenu {{ background: {panel}; border: 1px solid {border}; padding: 4px; }}
QMenu::item {{ padding: 4px 22px 4px 18px; border-radius: 4px; }}
QMenu::item:selected {{ background: {hover}; }}
QMenu::item:disabled {{ color: {muted}; }}
QMenu::separator {{ background: {border}; height: 1px; margin: 4px 8px; }}
QMenuBar {{ background: {window}; padding: 0; }}
QMenuBar::item {{ padding: 4px 10px; border-radius: 4px; background: transparent; }}
QMenuBar::item:selected {{ background: {hover}; }}
QSlider::groove:horizontal {{ height: 2px; background: {bar}; }}
QSlider::sub-page:horizontal {{ background: {text}; }}
QSlider::handle:horizontal {{ width: 9px; height: 9px; margin: -5px 0; border: 1px solid {text}; border-radius: 5px;
    background: {panel}; }}
QSlider::handle:horizontal:focus {{ background: {accent}; border-color: {accent}; }}
QSlider::handle:horizontal:disabled {{ border-color: {border}; }}
QSlider::sub-page:horizontal:disabled {{ background: {border}; }}
QLineEdit#limit {{ padding: 0 4px; }}
QCheckBox, QRadioButton {{ spacing: 6px; padding: 1px; }}
QCheckBox:disabled, QRadioButton:disabled {{ color: {muted}; }}
QCheckBox:focus, QRadioButton:focus {{ color: {accent}; }}
QCheckBox::indicator, QRadioButton::indicator, QTreeView::indicator, QTableView::indicator {{
    width: 12px; height: 12px; border: 1px solid {muted}; border-radius: 3px; background: {field}; }}
QRadioButton::indicator {{ border-radius: 7px; }}
QCheckBox::indicator:checked, QTreeView::indicator:checked, QTableView::indicator:checked {{
    background: {fill}; border-color: {fill}; image: url({icons}/check.png); }}
QTreeView::indicator:indeterminate {{ background: {muted}; border-color: {muted}; image: url({icons}/partial.png); }}
QRadioButton::indicator:checked {{ background: {fill}; border-color: {fill}; image: url({icons}/dot.png); }}
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled {{ border-color: {border}; }}
QCheckBox::indicator:checked:disabled {{ background: {border}; border-color: {border}; }}
"""

_current = LIGHT
_pair = "red-blue"


def current_theme() -> Theme:
    """The theme that was applied last."""
    return _current


def system_prefers_dark() -> bool:
    """Whether the desktop's palette is dark."""
    return QApplication.palette().color(QPalette.ColorRole.Window).lightness() < 128


def current_pair() -> str:
    """Name of the colours of A and B."""
    return _pair


def apply_theme(theme: Theme, pair: str | None = None) -> None:
    """Give the whole application a theme, and A and B a pair of `PAIRS`; without one they keep theirs."""
    global _current, _pair
    _pair = pair if pair in PAIRS else _pair
    colours = PAIRS[_pair].dark if theme.name == DARK.name else PAIRS[_pair].light
    _current = theme = theme._replace(target=colours[0], contrast=colours[1])
    palette = QPalette()
    roles = {
        QPalette.ColorRole.Window: theme.window,
        QPalette.ColorRole.WindowText: theme.text,
        QPalette.ColorRole.Base: theme.field,
        QPalette.ColorRole.AlternateBase: theme.panel,
        QPalette.ColorRole.Text: theme.text,
        QPalette.ColorRole.Button: theme.panel,
        QPalette.ColorRole.ButtonText: theme.text,
        QPalette.ColorRole.Highlight: theme.accent,
        QPalette.ColorRole.HighlightedText: theme.accent_text,
        QPalette.ColorRole.ToolTipBase: theme.panel,
        QPalette.ColorRole.ToolTipText: theme.text,
        QPalette.ColorRole.PlaceholderText: theme.muted,
        QPalette.ColorRole.Link: theme.accent,
        QPalette.ColorRole.Mid: theme.border,
        QPalette.ColorRole.Dark: theme.muted,
        QPalette.ColorRole.Light: theme.border,
        QPalette.ColorRole.Midlight: theme.border,
        QPalette.ColorRole.Accent: theme.accent,
    }
    for role, colour in roles.items():
        palette.setColor(role, QColor(colour))
    for role in (QPalette.ColorRole.Text, QPalette.ColorRole.WindowText, QPalette.ColorRole.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(theme.muted))
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    application.setStyleSheet("")  # or every widget is styled once for the palette and once more for the sheet
    application.setPalette(palette)
    icons = calm_resources.path("icons").as_posix()
    application.setStyleSheet(_SHEET.format(**theme._asdict(), icons=icons))
