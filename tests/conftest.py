"""Fixtures that every test may use."""

import os
from collections.abc import Iterator
from contextlib import suppress
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


@pytest.fixture(autouse=True)
def no_checkpoints_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Files over 10 MB go when their test ends: the runs of slow tests, 400 MB each, would fill a small disk."""
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    for place, _, names in os.walk(folder) if folder else ():
        for path in (Path(place, name) for name in names):
            with suppress(OSError):
                if path.lstat().st_size > 10_000_000:
                    path.unlink()
