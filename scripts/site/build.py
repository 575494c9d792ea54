"""Builds the site into out/site/html: lays out its sources, and runs Sphinx, strictly.

Run it from the root of the repository: .venv/bin/python scripts/site/build.py [FOLDER]
"""

import gc
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx
from stage import ROOT, stage


def main() -> int:
    """Return 0 if there was no warning."""
    # Document trees are millions of objects that live until the end. Looking for garbage among
    # them took nearly half of the time.
    gc.disable()
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "out/site"
    stage(site / "source")
    settings = str(Path(__file__).parent)
    strict = ["-W", "--keep-going", "--quiet", "--jobs", "auto", "--fresh-env"]
    kept = ["-c", settings, "-d", str(site / "doctrees")]
    return sphinx([*strict, *kept, str(site / "source"), str(site / "html")])


if __name__ == "__main__":
    sys.exit(main())
