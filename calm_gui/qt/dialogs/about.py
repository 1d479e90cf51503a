"""The About window: version, licences, and the credits of the bundled pictures."""

import csv
import html

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

import calm_resources
from calm_gui.version import __version__

__all__ = ["AboutDialog", "about_html"]


def about_html() -> str:
    """The text of the window."""
    with calm_resources.path("samples/credits.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    pictures = "".join(
        "<li>" + " · ".join(html.escape(str(value)) for value in row.values() if value) + "</li>" for row in rows
    )
    return (
        f"<h2>calm-gui {__version__}</h2>"
        "<p>Explore where a classifier's evidence lies. The method is CALM, from <i>Keep CALM and Improve Visual "
        "Feature Attribution</i> by J. M. Kim, J. Choe, Z. Akata and S. J. Oh (ICCV 2021).</p>"
        "<p>calm-gui is under the MIT licence. The bundled checkpoints are made from EfficientNet-Lite "
        "(Apache 2.0). The hierarchy and the descriptions come from WordNet 3.0, © Princeton University.</p>"
        f"<h3>Pictures</h3><ul>{pictures}</ul>"
    )


class AboutDialog(QDialog):
    """Shows `about_html`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("About calm-gui")
        self.resize(620, 480)
        text = QTextBrowser()
        text.setOpenExternalLinks(True)
        text.setHtml(about_html())
        text.setAccessibleName("About calm-gui")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(text)
        layout.addWidget(buttons)
