"""Traces as text for a terminal: source, graph, words nibble by nibble, trace memory."""

from collections.abc import Iterator, Mapping, Sequence

from accelflow import _native
from accelflow.trace.nodes import Node
from accelflow.trace.view import View, Word

#: Replacements for the characters of a graph, for terminals that cannot show them.
ASCII = str.maketrans(
    {"→": ">", "⇢": "~", "◇": "?", "●": "*", "↩": "<", "├": "|", "└": "`", "│": "|", "─": "-"}
)

#: Descriptions of the instructions that name no accelerator, transformation or address.
_IN_WORDS: Mapping[str, str] = {
    "branch": "branch: continue if predicate {predicate} holds, else go to {target}",
    "fork": "fork: a second execution starts at {target}",
    "scatter": "scatter: a second execution starts at {target}, a join waits for both",
    "join": "join: continue when all arms have arrived",
    "jump": "go to {target}",
    "end": "end: notify the core",
}

#: The explanation of the characters in a graph.
LEGEND = (
    "→ then   ⇢ next trace, from the trace memory   ● core is notified   "
    "↩ continues below the branch"
)


def show(view: View) -> str:
    """Return `view` as text in sections: source, graph, words, memory, predicates and warnings."""
    title = view.name + (f": {view.about}" if view.about else "")
    sections = [
        (title, []),
        *_source(view),
        ("Graph", [*graph(view.pipeline), "", LEGEND]),
        ("Words", list(_words(view))),
        ("Trace memory that the trace can reach", list(_memory(view.memory))),
        ("Predicates", [f"{index:x}  {text}" for index, text in view.predicates.items()]),
        ("Warnings", list(view.warnings)),
    ]
    blocks = [
        "\n".join([heading, *(f"  {line}".rstrip() for line in lines)])
        for heading, lines in sections
        if lines or heading == title
    ]
    return "\n\n".join(blocks) + "\n"


def graph(nodes: Sequence[Node]) -> list[str]:
    """Return a trace as the lines of a tree, drawn with characters.

    The arms of a branch, fork or join are indented below it. The path after it continues at the
    left.
    """
    return list(_graph(nodes, "→ ●"))


def _source(view: View) -> Iterator[tuple[str, list[str]]]:
    if view.source is not None:
        yield "Source", _native.trace_listing(view.source).splitlines()
        return
    lines = []
    for name, nodes in view.parts.items():
        lines += [f"{name}:", *(f"    {line}" for line in _native.trace_listing(nodes).split("\n"))]
    yield "Source, disassembled", [line for line in lines if line.strip()]


def _graph(nodes: Sequence[Node], leave: str) -> Iterator[str]:
    """Lines for `nodes`; `leave` is printed where a path continues past their end."""
    chain: list[str] = []
    for index, node in enumerate(nodes):
        last = index + 1 == len(nodes)
        match node.kind:
            case "accelerator":
                chain.append(f"→ {node.name}" if chain else f"{node.name}")
            case "trans":
                change = f"{node.src}>{node.dst}"
                chain.append(f"→ {change}" if chain else change)
            case "meet":
                chain.append("meet")
            case "branch" | "fork" | "join":
                if chain:
                    yield " ".join(chain)
                    chain = []
                yield from _split(node, leave if last else "↩", last)
            case _:
                chain.append(_end(node))
    if chain and nodes[-1].kind in {"accelerator", "trans"}:
        chain.append(leave)
    if chain:
        yield " ".join(chain)


def _end(node: Node) -> str:
    match node.kind:
        case "tail":
            return f"⇢ {node.name}"
        case "continue":
            return f"→ {node.name}"
        case _:
            return "→ ●"


def _split(node: Node, leave: str, last: bool) -> Iterator[str]:
    if node.kind == "fork":
        yield "fork"
        arms = [(str(number), arm) for number, arm in enumerate(node.arms, 1)]
        leave = "→ ●"
    elif node.kind == "join":
        yield "join"
        arms = [(str(number), arm) for number, arm in enumerate(node.arms, 1)]
    else:
        expected = {True: "   (yes expected)", False: "   (no expected)", None: ""}[node.likely]
        yield f"◇ {node.condition}{expected}"
        arms = list(zip(("yes", "no"), node.arms, strict=True))
        if not last:
            arms = [(label, arm) for label, arm in arms if arm]
    width = max(len(label) for label, _ in arms)
    for index, (label, arm) in enumerate(arms):
        closing = last and index + 1 == len(arms)
        lines = list(_graph(arm, leave)) or [leave]
        yield f"{'└' if closing else '├'}─ {label:{width}}  {lines[0]}"
        pad = " " * (width + 4)
        yield from (f"{' ' if closing else '│'}{pad}{line}" for line in lines[1:])
    if not last:
        yield "│"


def _words(view: View) -> Iterator[str]:
    names = {line.address: line.name for line in view.memory}
    for number, line in enumerate(view.own):
        if number:
            yield ""
        yield f"0x{line.address:03x}  {line.word:016x}  {line.name}"
        used = _used(line)
        for instruction in line.instructions[:used]:
            text = describe(instruction, names)
            first = instruction.position == 0 and "." not in line.name
            text += " (receives)" if first and instruction.name == "TCP" else ""
            yield f"    {instruction.position:2}  {instruction.nibbles:4}  {text}"
        unused = len(line.instructions) - used
        if unused:
            yield f"    {line.instructions[used].position:2}  {'0' * min(unused, 4):4}  unused"


def _used(line: Word) -> int:
    """The number of reachable instructions; zeros after the last one only fill the word."""
    instructions = line.instructions
    count = len(instructions)
    while count and instructions[count - 1].operation == "end":
        count -= 1
    if count == len(instructions):
        return count
    reached = {instruction.target for instruction in instructions[:count]}
    if count == 0 or instructions[count - 1].operation not in {"tail", "continue", "jump"}:
        return count + 1
    return count + (instructions[count].position in reached)


def describe(instruction: _native.TraceInstruction, names: Mapping[int, str]) -> str:
    """Return a description of an instruction of a trace word.

    `names` are the names of the words in trace memory by address.
    """
    if instruction.operation in _IN_WORDS:
        return _IN_WORDS[instruction.operation].format(
            target=instruction.target, predicate=f"{instruction.predicate or 0:x}"
        )
    if instruction.address is None:
        return f"{instruction.operation} {instruction.name}"
    return (
        f"{instruction.operation} 0x{instruction.address:03x}"
        f" ({names.get(instruction.address, '?')})"
    )


def _memory(lines: Sequence[Word]) -> Iterator[str]:
    width = max(len(line.name) for line in lines)
    names = {line.address: line.name for line in lines}
    for line in lines:
        links = [
            f"{'⇢' if i.operation == 'tail' else '→'} {names[i.address]}"
            for i in line.instructions
            if i.address is not None
        ]
        yield f"0x{line.address:03x}  {line.word:016x}  {line.name:{width}}  {'  '.join(links)}"
