import subprocess
import sys


def run(*arguments, cwd):
    command = [sys.executable, "-m", "cayleyklein", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_prints_a_table_and_writes_a_picture(tmp_path):
    result = run("picture.png", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "hyperbolic" in result.stdout
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_says_what_is_wrong_in_one_sentence(tmp_path):
    result = run("missing/picture.png", cwd=tmp_path)
    assert result.returncode == 1
    assert "no picture written to missing/picture.png" in result.stderr
    assert "Traceback" not in result.stderr
