"""The plotting library that each page contains: Vega-Lite with Vega and its embedder.

These libraries are part of the package vl-convert-python, so nothing is downloaded.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Final

from accelflow.errors import AccelflowError

__all__ = ["VEGA_LITE", "library_javascript", "library_versions"]

#: The version of Vega-Lite that pages use: the newest in the package vl-convert-python.
VEGA_LITE: Final = "6.4"
_PACKAGE: Final = "vl-convert-python"

_LICENSE: Final = """\
Vega, Vega-Lite and Vega-Embed. Copyright 2013-2026, University of Washington Interactive Data Lab
and the Vega authors. All rights reserved.

Redistribution and use in source and binary forms, with or without modification, are permitted
provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions
   and the following disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions
   and the following disclaimer in the documentation and/or other materials provided with the
   distribution.
3. Neither the name of the copyright holder nor the names of its contributors may be used to endorse
   or promote products derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR
IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND
FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR
CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE,
DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER
IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT
OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
"""


@cache
def library_javascript() -> str:
    """Return the plotting library of HTML pages (Vega) as JavaScript, with its licence.

    The script sets `window.vegaEmbed`. Raises AccelflowError if the package vl-convert-python is
    not installed.
    """
    try:
        import vl_convert  # noqa: PLC0415 (slow to load, and seldom needed)
    except ImportError as error:
        message = f"a report needs the package {_PACKAGE}: run pip install {_PACKAGE}"
        raise AccelflowError(message) from error
    bundle = vl_convert.javascript_bundle
    script: str = bundle(vl_version=VEGA_LITE)  # type: ignore[call-arg]  # the stub lacks the default
    # Within a page, "</script" would end the script's element.
    return f"/*\n{_LICENSE}*/\n" + script.replace("</script", "<\\/script")


def library_versions() -> str:
    """Return the versions of Vega-Lite and of the package vl-convert-python as text."""
    return f"Vega-Lite {VEGA_LITE} (of {_PACKAGE} {version(_PACKAGE)})"
