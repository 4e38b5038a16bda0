"""Write scripts/lock/*.txt: every dependency with its hashes, for every platform.

Run it after changing the dependencies in pyproject.toml; users never need it. It needs `uv` (python3 -m pip install
uv). torch is left out on purpose: its builds differ by index (CPU, CUDA), so no single hash fits all. Set-up installs
it first, pinned by version (TORCH in setup_steps.py). The packages that torch imports are in pyproject's `setup` group.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "scripts" / "lock"


def compile_lock(name: str, groups: list[str], constraint: Path | None) -> Path:
    target = LOCKS / name
    with tempfile.TemporaryDirectory() as folder:
        override = Path(folder) / "override.txt"
        override.write_text("torch ; python_version < '3'\n")
        command = ["uv", "pip", "compile", "pyproject.toml", "--universal", "--python-version", "3.11"]
        command += ["--override", str(override), "--generate-hashes", "--no-emit-index-url", "--no-annotate"]
        command += ["--no-header", "--quiet", "--output-file", str(target), "--extra", "hnswlib"]
        for group in groups:
            command += ["--group", group]
        if constraint:
            command += ["--constraint", str(constraint)]
        subprocess.run([*command, *sys.argv[1:]], cwd=ROOT, check=True)
    return target


if __name__ == "__main__":
    LOCKS.mkdir(exist_ok=True)
    run = compile_lock("run.txt", ["setup"], constraint=None)
    compile_lock("test.txt", ["setup", "test"], constraint=run)
