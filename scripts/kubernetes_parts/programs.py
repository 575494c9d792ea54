"""Kubernetes and CoreDNS, built from their Go modules."""

# ruff: noqa: S603 (it runs commands)

import json
import shutil
import subprocess
from pathlib import Path

KUBERNETES = "1.32.13"
COREDNS = "1.15.0"
DAEMONS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")
#: Modules of Kubernetes's own repository that have no release of this patch version, with the
#: nearest one that has.
NEAREST = {
    "cli-runtime": "0.32.3",
    "code-generator": "0.32.9",
    "cri-api": "0.32.12",
    "endpointslice": "0.32.12",
    "kubectl": "0.32.3",
    "metrics": "0.32.12",
}


def built(place: Path) -> Path:
    """Build the programs that are missing in `place`, and return the folder that has them."""
    programs = place / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    if any(not (programs / name).exists() for name in DAEMONS):
        print(f"builds Kubernetes {KUBERNETES} (ten minutes)", flush=True)
        _build_kubernetes(place / "kubernetes", programs)
    if not (programs / "coredns").exists():
        print(f"builds CoreDNS {COREDNS}", flush=True)
        _build_coredns(place / "coredns", programs)
    return programs


def _build_kubernetes(source: Path, programs: Path) -> None:
    """Build the daemons.

    Kubernetes's module replaces the modules of the same repository by folders, which other modules
    cannot do. So the module here replaces them by their releases.
    """
    source.mkdir(exist_ok=True)
    module = f"k8s.io/kubernetes@v{KUBERNETES}"
    folder = Path(_go(source, "mod", "download", "-json", module, found="Dir"))
    theirs = (folder / "go.mod").read_text().splitlines()
    lines = ["module node", next(line for line in theirs if line.startswith("go "))]
    lines.append(f"require k8s.io/kubernetes v{KUBERNETES}")
    for line in theirs:
        name, arrow, target = line.strip().partition(" => ")
        if arrow and target.startswith("./staging") and "sample-" not in name:
            minor = KUBERNETES.removeprefix("1")
            version = NEAREST.get(name.removeprefix("k8s.io/"), f"0{minor}")
            lines.append(f"replace {name} => {name} v{version}")
    (source / "go.mod").write_text("\n".join(lines) + "\n")
    (source / "go.sum").write_bytes((folder / "go.sum").read_bytes())
    packages = [f"k8s.io/kubernetes/cmd/{name}" for name in DAEMONS]
    # Clients ask for the version, which the build of a release sets.
    names = {"gitVersion": f"v{KUBERNETES}", "gitMajor": "1", "gitMinor": KUBERNETES.split(".")[1]}
    flags = [f"-X k8s.io/component-base/version.{name}={value}" for name, value in names.items()]
    options = ("-mod=mod", f"-ldflags={' '.join(flags)}", "-o", f"{programs}/")
    _go(source, "build", *options, *packages)


def _build_coredns(source: Path, programs: Path) -> None:
    source.mkdir(exist_ok=True)
    (source / "go.mod").write_text("module names\n")
    package = "github.com/coredns/coredns"
    _go(source, "get", f"{package}@v{COREDNS}")
    _go(source, "build", "-mod=mod", "-o", str(programs / "coredns"), package)


def _go(folder: Path, *arguments: str, found: str | None = None) -> str:
    """Run the Go command in `folder`; return the value of `found` in the JSON that it prints."""
    go = shutil.which("go") or "go"
    stdout = subprocess.PIPE if found else None
    done = subprocess.run([go, *arguments], cwd=folder, check=True, stdout=stdout, text=True)
    return str(json.loads(done.stdout)[found]) if found else ""
