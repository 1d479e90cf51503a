"""PNGs with more text or a larger profile than Pillow takes."""

__all__ = ["PNG_SIGNATURE", "without_long_chunks"]

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"

_TEXT = (b"tEXt", b"zTXt", b"iTXt")
_PROFILE = b"iCCP"
_LEFT_OUT = {_TEXT[0]: "text", _TEXT[1]: "text", _TEXT[2]: "text", _PROFILE: "colour profile"}


def without_long_chunks(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A PNG without its texts and its colour profile, and a phrase for each kind that was left out.

    Pillow refuses a whole picture because a chunk beside its pixels is long once it is unpacked.

    Parameters
    ----------
    data : bytes
        What follows a chunk that is cut off is kept as it is.
    """
    kept, left_out, position = [data[: len(PNG_SIGNATURE)]], dict[str, None](), len(PNG_SIGNATURE)
    while position + 12 <= len(data):
        length, kind = int.from_bytes(data[position : position + 4]), data[position + 4 : position + 8]
        end = position + 12 + length
        if kind in _LEFT_OUT:
            left_out[_LEFT_OUT[kind]] = None
        else:
            kept.append(data[position:end])
        position = end
    kept.append(data[position:])
    return b"".join(kept), tuple(f"too long a {what}, ignored" for what in left_out)
