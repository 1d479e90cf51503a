"""The last net under the commands: one sentence and a status for every end, and never a traceback."""

import os
import signal
import subprocess
import sys
import time

import platformdirs
import pytest
from synthetic import SAMPLE
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.cli.command import command
from calm_gui.errors import CalmError, DataError
from calm_gui.log_file import log_path
from calm_gui.torchrun import rank_number

MAINS = {
    "calm-gui": "calm_gui.__main__",
    "calm-explain": "calm_gui.cli.explain",
    "calm-train": "calm_training.cli",
    "calm-evaluate": "calm_training.evaluate.cli",
}


@pytest.fixture(autouse=True)
def own_log(tmp_path, monkeypatch):
    monkeypatch.setattr(platformdirs, "user_log_dir", lambda *_, **__: str(tmp_path / "log"))


def raising(error: BaseException) -> int:
    @command("calm-thing")
    def main(_: object = None) -> int:
        raise error

    return main()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        *(
            (error("because"), 1)
            for error in (RuntimeError, MemoryError, OSError, ValueError, KeyError, RecursionError)
        ),
        (UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"), 1),
        (AssertionError(), 1),
        (BrokenPipeError(), 1),
        (DataError("there is no such thing"), 2),
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_every_kind_of_end_is_one_sentence_and_a_status(error, status, capsys):
    assert raising(error) == status
    said = capsys.readouterr()
    assert said.out == "" and "Traceback" not in said.err
    if isinstance(error, BrokenPipeError):
        assert said.err == ""
        return
    assert said.err.startswith("calm-thing: ") and said.err.count("\n") == 1
    unexpected = isinstance(error, Exception) and not isinstance(error, CalmError)
    assert (str(log_path()) in said.err) is unexpected
    if unexpected:
        assert isinstance(error, MemoryError) or type(error).__name__ in said.err
        assert "Traceback" in log_path().read_text() and "calm-thing" in log_path().read_text()


def test_without_a_log_the_sentence_says_so(capsys, monkeypatch, tmp_path):
    (tmp_path / "log").write_text("a file in the way")
    assert raising(RuntimeError("because")) == 1
    assert "could not be written" in capsys.readouterr().err


def test_argparse_keeps_its_own_end():
    with pytest.raises(SystemExit):
        raising(SystemExit(2))


@pytest.mark.parametrize("text", ["two", "-1", "1.5", "²"])
def test_a_rank_that_is_no_number_is_told(monkeypatch, text):
    monkeypatch.setenv("RANK", text)
    with pytest.raises(CalmError, match="RANK"):
        rank_number("RANK")


def run(module: str, code: str, *arguments: str, **more) -> subprocess.CompletedProcess[bytes]:
    """Run a command with `code` before it, which may change what it calls."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", **more.pop("env", {})}
    start = f"import sys, {module} as module\n{code}\nsys.exit(module.main(sys.argv[1:]))"
    shell = [sys.executable, "-c", start, *arguments]
    return subprocess.run(shell, env=environment, stderr=subprocess.PIPE, timeout=120, **more)


FIRST_CALLS = {
    "calm-gui": ("module._missing_display", ["x.png"]),
    "calm-explain": ("module._explain", [str(SAMPLE), "--quiet"]),
    "calm-train": ("module._list", ["list"]),
    "calm-evaluate": ("module._evaluate", ["accuracy", "--checkpoint", "demo", "--data", "."]),
}


@pytest.mark.parametrize("name", MAINS)
@pytest.mark.parametrize(
    ("raised", "status"), [("RuntimeError('odd\\nthing')", 1), ("MemoryError()", 1), ("KeyboardInterrupt()", 130)]
)
def test_no_command_ends_in_a_traceback(name, raised, status, tmp_path):
    function, arguments = FIRST_CALLS[name]
    code = f"def broken(*_, **__): raise {raised}\n{function} = broken"
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    done = run(MAINS[name], code, *arguments, env=env, stdout=subprocess.PIPE)
    assert done.returncode == status, done.stderr
    assert b"Traceback" not in done.stderr + done.stdout
    assert done.stderr.startswith(name.encode()) and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("name", MAINS)
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_every_command_with_its_status(name, number, status, tmp_path):
    function, arguments = FIRST_CALLS[name]
    code = f"import time\ndef wait(*_, **__):\n print('here', flush=True)\n time.sleep(60)\n{function} = wait"
    start = f"import sys, {MAINS[name]} as module\n{code}\nsys.exit(module.main(sys.argv[1:]))"
    with subprocess.Popen(
        [sys.executable, "-c", start, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"here\n"
        time.sleep(0.1)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == status, err
    assert b"Traceback" not in err and err.count(b"\n") == 1


@pytest.mark.parametrize("name", [name for name in MAINS if name != "calm-gui"])
@pytest.mark.parametrize("closed", ["stdout", "stderr", "both"])
def test_closed_streams_are_no_traceback(name, closed):
    arguments = {"calm-explain": [str(SAMPLE), "--shard", "9"], "calm-train": ["list"]}.get(
        name, ["accuracy", "--checkpoint", "demo", "--data", "nowhere"]
    )
    how = {"stdout": ">&-", "stderr": "2>&-", "both": ">&- 2>&-"}[closed]
    module = f"{sys.executable} -m {MAINS[name].removesuffix('.explain')}"
    done = subprocess.run(["sh", "-c", f'exec {module} "$@" {how}', "sh", *arguments], capture_output=True, timeout=120)
    assert done.returncode == {"calm-explain": 2, "calm-train": 0, "calm-evaluate": 1}[name]
    assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr


def test_a_reader_that_left_before_the_last_word_is_no_traceback():
    start = "import sys, time; from calm_training.cli import main; time.sleep(0.3); sys.exit(main(['list']))"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-c", start], stdout=writing, stderr=subprocess.PIPE, timeout=60)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_full_disk_behind_stdout_is_a_sentence():
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = run("calm_training.cli", "", "list", stdout=full)
    assert done.returncode == 1
    assert b"No space left" in done.stderr and b"Traceback" not in done.stderr and done.stderr.count(b"\n") == 1


EMPTY = dict.fromkeys(
    (
        *("WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MPLBACKEND", "MATPLOTLIBRC", "MPLCONFIGDIR", "TMPDIR"),
        *("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "LANG", "LC_ALL", "COLUMNS"),
    ),
    "",
)


NOTEBOOK = "module://matplotlib_inline.backend_inline"
"""What Jupyter sets; matplotlib refuses this very name where the module isn't installed."""


@pytest.mark.parametrize("env", [EMPTY, {"MPLBACKEND": NOTEBOOK}], ids=["empty", "notebook"])
def test_odd_environments_do_not_stop_calm_explain(tmp_path, env):
    checkpoint = write_tiny_checkpoint(tmp_path / "tiny.safetensors")
    arguments = [str(SAMPLE), "--checkpoint", str(checkpoint), "--out", str(tmp_path / "out"), "--format", "png"]
    done = run("calm_gui.cli", "", *arguments, "--quiet", env=env, stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    # One class's name is written in letters that not every machine's fonts have.
    assert all(b"no font here can draw" in line for line in done.stderr.splitlines())
    assert list((tmp_path / "out").glob("*.png"))


@pytest.mark.slow
def test_no_locale_or_time_zone_changes_a_byte(tmp_path):
    checkpoint = write_tiny_checkpoint(tmp_path / "tiny.safetensors")
    made = {}
    for place in ("C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", "ar_EG.UTF-8", "ja_JP.UTF-8"):
        zone = {"C": "UTC", "de_DE.UTF-8": "Europe/Berlin"}.get(place, "Asia/Tokyo")
        out = tmp_path / place
        arguments = [str(SAMPLE), "--checkpoint", str(checkpoint), "--out", str(out), "--format", "png,svg,pdf,npz,csv"]
        env = {"LC_ALL": place, "LANG": place, "TZ": zone}
        done = run("calm_gui.cli", "", *arguments, "--quiet", env=env, stdout=subprocess.PIPE)
        assert done.returncode == 0, done.stderr
        made[place] = {path.name: path.read_bytes() for path in out.iterdir()}
    assert all(files == made["C"] for files in made.values()) and len(made["C"]) >= 6
