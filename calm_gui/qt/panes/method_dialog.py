"""The parameters of a method of others, such as how many samples it takes."""

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QDoubleSpinBox, QFormLayout, QLabel, QSpinBox, QWidget

from calm_gui.methods import METHODS, Method
from calm_gui.methods.parameter import Number, Parameter
from calm_gui.qt.widgets.calm_fields import CalmDoubleSpinBox, CalmSpinBox

__all__ = ["MethodDialog"]


class MethodDialog(QDialog):
    """A field for each parameter; `chosen` is the method with their values.

    Attributes
    ----------
    fields : dict of str to QSpinBox or QDoubleSpinBox
        By the parameters' keys.
    """

    def __init__(self, method: Method, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"Parameters of {method.plain.title}")
        self._method = method.plain
        about = QLabel(f"{method.source}. {method.meaning[0].upper()}{method.meaning[1:]}.")
        about.setWordWrap(True)
        form = QFormLayout(self)
        form.addRow(about)
        self.fields: dict[str, QSpinBox | QDoubleSpinBox] = {}
        for parameter in method.parameters:
            field = _field(parameter, method.settings[parameter.key])
            self.fields[parameter.key] = field
            form.addRow(parameter.key.capitalize(), field)
        buttons = QDialogButtonBox.StandardButton
        box = QDialogButtonBox(buttons.Ok | buttons.Cancel | buttons.RestoreDefaults)
        box.accepted.connect(self.accept)
        box.rejected.connect(self.reject)
        box.button(buttons.RestoreDefaults).clicked.connect(self._restore)
        form.addRow(box)

    @property
    def chosen(self) -> Method:
        """The method with the values that the fields show."""
        return METHODS.having(self._method, {key: field.value() for key, field in self.fields.items()})

    def _restore(self) -> None:
        for parameter in self._method.parameters:
            _show(self.fields[parameter.key], parameter.default)


def _field(parameter: Parameter, value: Number) -> QSpinBox | QDoubleSpinBox:
    field: QSpinBox | QDoubleSpinBox
    if parameter.whole:
        field = CalmSpinBox()
        field.setRange(int(parameter.least), int(parameter.most))
    else:
        field = CalmDoubleSpinBox()
        field.setDecimals(3)
        field.setSingleStep(0.05)
        field.setRange(parameter.least, parameter.most)
    _show(field, value)
    field.setAccessibleName(parameter.key.capitalize())
    ends = f"from {parameter.least:g} to {parameter.most:g}, by default {parameter.default:g}"
    field.setToolTip(f"{parameter.words.format('…')}; {ends}")
    return field


def _show(field: QSpinBox | QDoubleSpinBox, value: Number) -> None:
    if isinstance(field, QSpinBox):
        field.setValue(int(value))
    else:
        field.setValue(float(value))
