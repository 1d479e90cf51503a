"""How an explanation shows itself in a notebook."""

from base64 import b64encode
from html import escape

from calm_gui.core.explanation import AnyExplanation
from calm_gui.render.figure import preview_png
from calm_gui.render.naming import number_text

__all__ = ["explanation_html"]


def explanation_html(explanation: AnyExplanation) -> str:
    """Picture and first guess's map beside a table of the five most probable classes, as HTML without scripts."""
    image = b64encode(preview_png(explanation, [])).decode()
    rows = "".join(
        f"<tr><td>{escape(explanation.classes[index].label)}</td><td>{number_text(p)}</td></tr>"
        for index, p in explanation.top(5)
    )
    name = escape(str(explanation.source.get("picture", {}).get("name", "picture")))
    checkpoint = escape(str(explanation.source.get("checkpoint", {}).get("name", "")))
    return (
        f'<figure><img alt="{name} and the map of its first guess" src="data:image/png;base64,{image}">'
        f"<figcaption>{name}, {checkpoint}</figcaption></figure>"
        f"<table><thead><tr><th>class</th><th>p(y|x)</th></tr></thead><tbody>{rows}</tbody></table>"
    )
