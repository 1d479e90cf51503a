"""The `demo` that version 0.1 shipped: what was made with it says so, since the demo of today shows other numbers."""

__all__ = ["FORMER_DEMO", "REPLACED"]

FORMER_DEMO = "3279ae27a09afd4d30501dab603a28cf43742da50538196b4f532e9abcb6ad0c"
"""SHA-256 of its file."""

REPLACED = (
    "it was made with the demo of calm-gui 0.1, and version 0.2 has another demo, which shows other numbers; "
    "the old file (calm_resources/checkpoints/demo.safetensors of version 0.1) still opens and shows the old ones"
)
