"""HTML of a page, in one file with style, script, data and plotting library."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from html import escape
from importlib.resources import files
from os import PathLike
from typing import Any, Final

from accelflow.errors import file_path
from accelflow.files import write_whole
from accelflow.page.document import Code, Figure, Page, Section, Selector, Slider, Table
from accelflow.page.library import VEGA_LITE, library_javascript
from accelflow.page.table import table_html

__all__ = ["to_html", "write_page"]

#: The policy by which the browser refuses to load anything from outside the page. Vega needs
#: ``unsafe-eval``, since it compiles expressions.
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "img-src data:"
)
#: From this number of rows on, repeated texts are stored once.
_LONG_COLUMN: Final = 1_000
_SCHEMA: Final = f"https://vega.github.io/schema/vega-lite/v{VEGA_LITE.partition('.')[0]}.json"


def write_page(page: Page, path: str | PathLike[str]) -> None:
    """Write `page` as an HTML file to `path`, whole or not at all.

    Raises OSError if the file cannot be written, and as :func:`to_html` does.
    """
    path = file_path("path", path)
    text = to_html(page)
    write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))


def to_html(page: Page) -> str:
    """Return `page` as HTML. Equal pages give equal text.

    Raises AccelflowError if the package of the plotting library is not installed, and ValueError
    for a number in a plot that is not finite.
    """
    sections = "".join(_section(section, place) for place, section in enumerate(page.sections))
    contents = "".join(
        f'<li><a href="#section-{place}">{escape(section.title)}</a></li>'
        for place, section in enumerate(page.sections)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(page.title)}</title>\n<style>\n{_packaged('page.css')}</style>\n"
        "</head>\n<body>\n<main>\n"
        f'<header><p class="question"><bdi>{escape(page.question)}</bdi></p>\n'
        f"<h1><bdi>{_together(escape(page.answer))}</bdi></h1></header>\n"
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav>\n'
        '<noscript><p class="note">Plots and sorting need JavaScript; the tables hold the same '
        "numbers.</p></noscript>\n"
        f"{sections}</main>\n"
        f"<script>\n{library_javascript()}\n</script>\n"
        f"<script>\n{_packaged('page.js')}</script>\n</body>\n</html>\n"
    )


def _together(text: str) -> str:
    """Return `text` with no-break spaces between numbers and units."""
    return re.sub(r"(?<=\d) (?=%|us\b|ms\b)", "\N{NO-BREAK SPACE}", text)


@cache
def _packaged(name: str) -> str:
    return (files("accelflow.page") / name).read_text(encoding="utf-8")


def _section(section: Section, place: int) -> str:
    parts = "".join(_part(part, f"{place}-{number}") for number, part in enumerate(section.parts))
    text = "".join(f"<p><bdi>{escape(paragraph)}</bdi></p>\n" for paragraph in section.text)
    heading = f'<h2 id="heading-{place}">{escape(section.title)}</h2>'
    opening = f'<section id="section-{place}" aria-labelledby="heading-{place}">\n'
    if section.folded:
        body = f"<details><summary>{heading}</summary>\n{text}{parts}</details>\n"
    else:
        body = f"{heading}\n{text}{parts}"
    return f"{opening}{body}</section>\n"


def _part(part: Figure | Table | Code, name: str) -> str:
    match part:
        case Figure():
            return "".join(_figure(part, name))
        case Table():
            return _table(part)
        case Code():
            caption = escape(part.caption)
            return (
                f'<div class="code"><p>{caption}</p><pre tabindex="0" role="region" '
                f'aria-label="{caption}"><code>{escape(part.text)}</code></pre></div>\n'
            )


def _table(table: Table) -> str:
    label = escape(table.caption.partition("\n")[0])
    # The region scrolls by itself on a narrow screen, by the keyboard too.
    region = (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">'
        f"{table_html(table)}</div>\n"
    )
    if not table.folded:
        return region
    return f"<details><summary>{label}</summary>{region}</details>\n"


def _figure(figure: Figure, name: str) -> Iterator[str]:
    title = escape(figure.title)
    yield f'<figure id="figure-{name}" class="plot">\n<figcaption>{title}</figcaption>\n'
    yield f'<p class="text"><bdi>{escape(figure.text)}</bdi></p>\n'
    if figure.controls:
        controls = "".join(
            _control(control, f"{name}-{place}") for place, control in enumerate(figure.controls)
        )
        yield f'<div class="controls">{controls}</div>\n'
    yield '<div class="view"></div>\n'
    if figure.readout is not None:
        kind = "readout" if figure.readout.shown else "readout unseen"
        yield f'<p class="{kind}" role="status" aria-label="Values: {title}"></p>\n'
    yield "".join(f'<p class="note">{escape(note)}</p>\n' for note in figure.notes)
    spec = {"$schema": _SCHEMA, "description": figure.text, "width": "container", **figure.spec}
    content = {
        "spec": spec,
        "data": {name: _packed(column) for name, column in figure.data.items()},
        "readout": None if figure.readout is None else asdict(figure.readout),
    }
    yield f'<script type="application/json">{embedded(content)}</script>\n</figure>\n'


def _packed(column: Sequence[Any]) -> Any:
    """Return `column`, or for a long column of texts, the different texts and an index per row."""
    if len(column) < _LONG_COLUMN or not all(isinstance(value, str) for value in column):
        return column
    places = {text: place for place, text in enumerate(dict.fromkeys(column))}
    return {"texts": list(places), "at": [places[text] for text in column]}


def _control(control: Selector | Slider, name: str) -> str:
    label = escape(control.label)
    if isinstance(control, Selector):
        options = "".join(f"<option>{escape(option)}</option>" for option in control.options)
        return (
            f'<label>{label} <select data-parameter="{control.parameter}" '
            f'id="control-{name}">{options}</select></label> '
        )
    values = escape(json.dumps(control.values))
    texts = escape(json.dumps(control.texts))
    return (
        f'<label>{label} <input type="range" min="0" max="{len(control.values) - 1}" step="1" '
        f'value="{control.at}" data-parameter="{control.parameter}" data-values="{values}" '
        f'data-texts="{texts}" id="control-{name}" '
        f'aria-valuetext="{escape(control.texts[control.at])}"></label> '
        f'<output for="control-{name}">{escape(control.texts[control.at])}</output> '
    )


def embedded(content: Any) -> str:
    """Return `content` as JSON text that is safe inside an HTML element.

    Raises ValueError for a number that is not finite.
    """
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
