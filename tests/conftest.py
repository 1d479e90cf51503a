"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of the reference values and data sets (``CALM_SHARED``, else ``../shared``)."""
    folder = Path(os.environ.get("CALM_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    if not (folder / "reference").is_dir():
        pytest.fail(f"the shared data folder isn't at {folder}; set CALM_SHARED to where it lies")
    return folder


@pytest.fixture(autouse=True)
def no_log_at_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures that tests provoke don't go into the log of who runs them."""
    monkeypatch.setattr("platformdirs.user_log_dir", lambda *_, **__: str(tmp_path_factory.getbasetemp() / "log"))
