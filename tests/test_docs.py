"""Every example in a document that is marked `run` does what the document says."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
#: Blocks in these languages show something to type, so they are run unless they set things up.
RUNNABLE = {"console", "python"}
#: A fenced block, in which `#` does not begin a heading.
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    where: str
    language: str
    marks: tuple[str, ...]
    text: str


def blocks_in(name: str, text: str) -> list[Block]:
    found = []
    for match in re.finditer(r"^```([^\n`]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        language, *marks = match[1].split() or [""]
        line = text[: match.start()].count("\n") + 1
        found.append(Block(f"{name}:{line}", language, tuple(marks), match[2]))
    return found


BLOCKS = [
    block
    for document in DOCUMENTS
    for block in blocks_in(str(document.relative_to(ROOT)), document.read_text(encoding="utf-8"))
]
RUN = [block for block in BLOCKS if "run" in block.marks]


QUOTED = [block for block in BLOCKS if "from" in block.marks]


def quoted_region(file: Path) -> str:
    """What stands between the two marks of a file, of which it has one pair."""
    parts = re.split(r"^// quoted: (?:begin|end)\n", file.read_text(encoding="utf-8"), flags=re.M)
    assert len(parts) == 3, f"{file}: one '// quoted: begin' and one '// quoted: end' are needed"
    return parts[1]


def run_python(block: Block, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block.text], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{block.where}\n{done.stderr}"


def run_console(block: Block) -> None:
    # As a shell shows it, a command goes on in lines that begin with >.
    parts = re.split(r"^\$ (.*(?:\n> .*)*)\n", block.text, flags=re.MULTILINE)
    assert parts[0] == "", f"{block.where}: output before the first command"
    assert len(parts) > 1, f"{block.where}: no command"
    for command, expected in zip(parts[1::2], parts[2::2], strict=True):
        done = subprocess.run(
            ["/bin/bash", "-c", command.replace("\n> ", "\n")],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        # A run of half a minute, on a busy machine, prints its progress.
        shown = re.sub(r"^.*: \d+% after .* left\n", "", done.stdout, flags=re.MULTILINE)
        printed = shown + (f"[exit {done.returncode}]\n" if done.returncode else "")
        pattern = ".*".join(re.escape(piece) for piece in expected.split("..."))
        assert re.fullmatch(pattern, printed, re.DOTALL), f"{block.where}: {command}\n{printed}"


@pytest.mark.parametrize("block", RUN, ids=lambda block: block.where)
def test_example(block: Block, tmp_path: Path) -> None:
    if block.language == "python":
        run_python(block, tmp_path)
    else:
        run_console(block)


@pytest.mark.parametrize("block", QUOTED, ids=lambda block: block.where)
def test_quotation_equals_the_file_that_runs(block: Block) -> None:
    marker, name = block.marks
    assert marker == "from"
    # Only what `cargo test` runs may be quoted.
    assert re.fullmatch(r"crates/\w+/tests/\w+\.rs", name), block.where
    assert block.text == quoted_region(ROOT / name), f"{block.where} is not what {name} has"


def test_rust_is_quoted_and_every_example_file_is() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("crates/*/tests/extend_*.rs")}
    assert files
    assert files <= {block.marks[1] for block in QUOTED}
    assert [b.where for b in BLOCKS if b.language == "rust" and b not in QUOTED] == []


def test_every_runnable_block_says_whether_it_is_run() -> None:
    assert {"README.md", "CONTRIBUTING.md"} <= {block.where.split(":")[0] for block in RUN}
    assert all(block.language in RUNNABLE for block in RUN)
    silent = [
        b.where for b in BLOCKS if b.language in RUNNABLE and not {"run", "no-run"} & {*b.marks}
    ]
    assert silent == []


def anchors_of(text: str) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(FENCED, "", text), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def leads_somewhere(document: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    place = document.parent / name if name else document
    if not place.exists() or not anchor:
        return place.exists()
    return anchor in anchors_of(place.read_text(encoding="utf-8"))


def test_links_between_documents_lead_somewhere() -> None:
    links = [
        (document, target)
        for document in DOCUMENTS
        for target in re.findall(r"\]\((?!https?:)([^)]+)", document.read_text(encoding="utf-8"))
    ]
    assert links
    broken = [(d.name, target) for d, target in links if not leads_somewhere(d, target)]
    assert broken == []


# The checker itself.


@pytest.mark.parametrize(
    "text",
    [
        "$ echo one\ntwo\n",
        "$ echo one\n",
        "$ echo one; exit 3\none\n",
        "$ true\n$ echo one\nsomething ... else\n",
        "one\n$ echo one\none\n",
        "",
    ],
)
def test_wrong_console_block_fails(text: str) -> None:
    with pytest.raises(AssertionError):
        run_console(Block("made up", "console", ("run",), text))


def test_right_console_block_passes() -> None:
    text = "$ echo one two three\none...three\n$ echo bad; exit 3\nbad\n[exit 3]\n"
    run_console(Block("made up", "console", ("run",), text))
    loop = "$ for n in 1 2; do\n>   echo $n\n> done\n1\n2\n$ echo 3\n3\n"
    run_console(Block("made up", "console", ("run",), loop))


def test_file_without_both_marks_has_no_region(tmp_path: Path) -> None:
    (tmp_path / "x.rs").write_text("a\n// quoted: begin\nb\n// quoted: end\nc\n")
    assert quoted_region(tmp_path / "x.rs") == "b\n"
    (tmp_path / "y.rs").write_text("// quoted: begin\nb\n")
    with pytest.raises(AssertionError, match="quoted: end"):
        quoted_region(tmp_path / "y.rs")


@pytest.mark.parametrize("target", ["missing.md", "page.md#other", "#other", "page.md#code"])
def test_link_to_nothing_is_found(target: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Some `name`, and more\n\n```\n# code\n```\n")
    assert not leads_somewhere(page, target)
    assert leads_somewhere(page, "page.md#some-name-and-more")


def test_wrong_python_block_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run_python(Block("made up", "python", ("run",), "1 / 0\n"), tmp_path)


def test_block_reader_sees_language_marks_and_line() -> None:
    (block,) = blocks_in("x.md", "text\n\n```python run\nprint(1)\n```\n")
    assert block == Block("x.md:3", "python", ("run",), "print(1)\n")
