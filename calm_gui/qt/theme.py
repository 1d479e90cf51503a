"""Light and dark: one set of colours each, applied as palette and style sheet."""

from typing import NamedTuple

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

import calm_resources

__all__ = ["DARK", "LIGHT", "Theme", "apply_theme", "current_theme", "system_prefers_dark"]


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


LIGHT = Theme(
    name="light",
    window="#f1f3f6",
    panel="#ffffff",
    field="#ffffff",
    border="#d5dae1",
    text="#1b2027",
    muted="#5c6673",
    accent="#1a6dd6",
    fill="#1a6dd6",
    accent_text="#ffffff",
    hover="#e8eff9",
    bar="#e3e7ed",
    target="#b8342a",
    contrast="#1f5fae",
    good="#1c7c3c",
    bad="#c0261c",
    canvas="#eceff3",
)

DARK = Theme(
    name="dark",
    window="#16191d",
    panel="#20242a",
    field="#191c21",
    border="#3a414b",
    text="#e8ebef",
    muted="#9aa5b3",
    accent="#5aa2ff",
    fill="#2f6fca",
    accent_text="#0d1117",
    hover="#2a313a",
    bar="#323943",
    target="#d2574c",
    contrast="#3d7fd6",
    good="#58c27d",
    bad="#ff7166",
    canvas="#16191d",
)

_SHEET = """
QWidget {{ color: {text}; }}
QMainWindow, QDialog {{ background: {window}; }}
QToolTip {{ background: {panel}; color: {text}; border: 1px solid {border}; padding: 4px; }}
QToolBar {{ background: {window}; border: none; spacing: 1px; padding: 0 6px 2px 6px; }}
QToolBar::separator {{ background: {border}; width: 1px; margin: 5px 6px; }}
QToolButton {{ border: 1px solid transparent; border-radius: 5px; padding: 3px 6px; }}
QToolButton:hover {{ background: {hover}; }}
QToolButton:checked {{ background: {hover}; border-color: {accent}; }}
QToolButton:focus {{ border-color: {accent}; }}
QToolButton:disabled {{ color: {muted}; }}
QToolButton::menu-indicator {{ image: none; }}
QStatusBar {{ background: {window}; color: {muted}; }}
QStatusBar::item {{ border: none; }}
QFrame#panel {{ background: {panel}; border: 1px solid {border}; border-radius: 8px; }}
QFrame#film {{ background: {panel}; border: 1px solid {border}; border-radius: 8px; }}
QFrame#film QListView {{ background: transparent; }}
QFrame#pane {{ background: {panel}; border: 1px solid {border}; border-radius: 8px; }}
QFrame#pane[active="true"] {{ border-color: {accent}; }}
QLabel#muted {{ color: {muted}; }}
QLabel#heading {{ font-weight: 600; }}
QLineEdit, QComboBox, QSpinBox, QDoubleSpinBox {{
    background: {field}; border: 1px solid {border}; border-radius: 5px; padding: 3px 6px;
    selection-background-color: {accent}; selection-color: {accent_text};
}}
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
QPushButton:default {{ background: {accent}; color: {accent_text}; border-color: {accent}; }}
QPushButton:disabled {{ color: {muted}; background: {window}; }}
QTabWidget::pane {{ border: none; }}
QTabBar::tab {{ padding: 5px 12px; color: {muted}; border-bottom: 2px solid transparent; }}
QTabBar::tab:selected {{ color: {text}; border-bottom-color: {accent}; }}
QTabBar::tab:focus {{ color: {accent}; }}
QTreeView, QListView, QTableView, QScrollArea {{ background: {panel}; border: none; outline: none; }}
QTreeView::item, QListView::item {{ padding: 1px 0; }}
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
QMenuBar {{ background: {window}; }}
QMenuBar::item {{ padding: 4px 8px; border-radius: 4px; background: transparent; }}
QMenuBar::item:selected {{ background: {hover}; }}
QSplitter::handle {{ background: transparent; }}
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


def current_theme() -> Theme:
    """The theme that was applied last."""
    return _current


def system_prefers_dark() -> bool:
    """Whether the desktop's palette is dark."""
    return QApplication.palette().color(QPalette.ColorRole.Window).lightness() < 128


def apply_theme(theme: Theme) -> None:
    """Give the whole application a theme."""
    global _current
    _current = theme
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
