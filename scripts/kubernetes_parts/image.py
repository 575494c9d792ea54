"""The container image of Dask's pods: Debian's Python with the packages of an environment."""

# ruff: noqa: S603 (it runs commands)

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

NAME = "localhost/accelflow:trial"
#: The commands of the image; each runs a module of the environment.
COMMANDS = {
    "dask": "dask",
    "dask-scheduler": "distributed.cli.dask_scheduler",
    "dask-worker": "distributed.cli.dask_worker",
}


def built(place: Path, packages: Path) -> Path:
    """Return an archive of the image with Python's `packages`, a folder, in Docker's format.

    Debian's files are installed once and kept in `place`. The archive is built anew.
    """
    system = place / "debian"
    if not (system / "done").exists():
        print("installs Debian for the image", flush=True)
        shutil.rmtree(system, ignore_errors=True)
        command = ["debootstrap", "--variant=minbase", "--include=python3", "bookworm", str(system)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (system / "done").touch()
    layer = place / "layer.tar"
    with tarfile.open(layer, "w") as tar:
        for name in ("bin", "etc", "lib", "lib64", "root", "sbin", "tmp", "usr", "var/lib"):
            tar.add(system / name, name)
        tar.add(packages, "opt/packages")
        for name, module in COMMANDS.items():
            _add(tar, f"usr/bin/{name}", f'#!/bin/sh\nexec python3 -m {module} "$@"\n', 0o755)
    return _archive(place, layer)


def _add(tar: tarfile.TarFile, name: str, text: str, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(text.encode()), mode
    tar.addfile(entry, io.BytesIO(text.encode()))


def _archive(place: Path, layer: Path) -> Path:
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Cmd": ["/bin/sleep", "infinity"],
            "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH=/opt/packages"],
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [NAME], "Layers": ["layer.tar"]}]
    archive = place / "image.tar"
    with tarfile.open(archive, "w") as tar:
        _add(tar, "config.json", json.dumps(config))
        _add(tar, "manifest.json", json.dumps(manifest))
        tar.add(layer, "layer.tar")
    layer.unlink()
    return archive
