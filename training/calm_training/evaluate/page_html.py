"""A page of a report in one HTML file that needs no other."""

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

from PIL import Image

from calm_training.evaluate.page import Block, Command, Heading, Paragraph, Picture
from calm_training.evaluate.table import Table, html

__all__ = ["as_html"]

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2326; margin: 0 auto; padding: 24px; max-width: 1152px; }
h1 { font-size: 28px; line-height: 1.2; } h2 { font-size: 21px; margin-top: 40px; }
p { max-width: 75ch; overflow-wrap: anywhere; }
pre { background: #f3f5f5; padding: 10px 12px; overflow-x: auto; font-size: 13px; }
.table { overflow-x: auto; margin: 16px 0; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 5px 10px 5px 0; border-bottom: 1px solid #d9dfdf; vertical-align: top; }
th { font-weight: 600; } td .whole { white-space: nowrap; }
figure { margin: 20px 0; } img { max-width: 100%; height: auto; } figcaption { font-size: 14px; color: #4c585c; }
@media (max-width: 600px) { body { padding: 14px; } h1 { font-size: 23px; } h2 { font-size: 19px; } }
"""


MOST_PIXELS = 1600
"""Width or height of a picture in the page; the files beside it are larger."""


def as_html(blocks: Sequence[Block]) -> str:
    """The page; pictures are within it, wide tables scroll by themselves on narrow screens."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "Report")
    body = "\n".join(map(_html, blocks))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Command(text):
            return f"<pre><code>{escape(text)}</code></pre>"
        case Picture(path, caption):
            data = base64.b64encode(_at_most(path, MOST_PIXELS)).decode()
            image = f'<img src="data:image/png;base64,{data}" alt="{escape(caption)}">'
            return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"
        case Table():
            return f'<div class="table">{html(block)}</div>'


def _at_most(path: Path, pixels: int) -> bytes:
    """A PNG file's picture, made smaller if it is larger than that."""
    with Image.open(path) as picture:
        if max(picture.size) <= pixels:
            return path.read_bytes()
        smaller = picture.convert("RGB")
    smaller.thumbnail((pixels, pixels), Image.Resampling.LANCZOS)
    data = io.BytesIO()
    smaller.save(data, "PNG", optimize=True)
    return data.getvalue()
