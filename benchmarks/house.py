"""How the package is built, in figures: files, lines, imports, arguments.

    python -m benchmarks.house                       this package
    python -m benchmarks.house OLD/src/tropicell     another one, beside it

Imports inside functions count, those for type checkers do not. The modules that look upward for the user's comfort, and say so in
the contracts of pyproject.toml, are left out where cycles and the order of the rooms are looked at.
Needs networkx.
"""

from __future__ import annotations

import argparse
import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "tropicell"
COMFORT = {"tropicell.network.comfort", "tropicell.regions.comfort"}


def modules_of(package: Path) -> dict[str, ast.Module]:
    """All modules by their names."""
    found = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(file.read_text("utf-8"))
    return found


def imports_of(tree: ast.Module, modules: dict[str, ast.Module]) -> Iterator[str]:
    """The modules of the package that a module imports, within functions, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else str(node.module)


def rooms_upward() -> list[str]:
    """The rooms in the order in which they may import each other, the lowest first."""
    settings = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers":
            return [str(layer) for layer in reversed(contract["layers"])]
    return []


def figures_of(package: Path) -> dict[str, object]:
    """Name and figure."""
    modules = modules_of(package)
    graph = nx.DiGraph()
    graph.add_nodes_from(modules)
    for name, tree in modules.items():
        graph.add_edges_from((name, other) for other in imports_of(tree, modules) if other != name)
    files = list(package.rglob("*.py"))
    lines = sum(len(file.read_text("utf-8").splitlines()) for file in files)
    longest = max(
        len(node.args.posonlyargs) + len(node.args.args)
        for tree in modules.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    )
    inits = {name for name in modules if any(other.startswith(f"{name}.") for other in modules)}
    single = [name for name in set(modules) - inits if graph.in_degree(name) == 1]
    order = [room for room in rooms_upward() if room in modules]
    upward = sum(
        order.index(room(other)) > order.index(room(name))
        for name, other in graph.edges
        if room(name) in order and room(other) in order and name not in COMFORT
    )
    classes = [
        node.name
        for tree in modules.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    ]
    graph.remove_nodes_from(COMFORT)
    cycles = [len(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    return {
        "entries at the top": sum(path.name != "__pycache__" for path in package.iterdir()),
        "files": len(files),
        "lines": lines,
        "lines a file": round(lines / len(files)),
        "modules with one importer": len(single),
        "cycles of imports (modules in each)": ", ".join(map(str, sorted(cycles))) or "none",
        "imports against the order of the rooms": upward if "tropicell.network" in inits else "–",
        "class names that mean several things": len(classes) - len(set(classes)),
        "longest list of positional arguments": longest,
    }


def room(name: str) -> str:
    """The room of a module."""
    return ".".join(name.split(".")[:2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("packages", nargs="*", type=Path, help="further folders of the package")
    columns = [figures_of(package) for package in [*parser.parse_args().packages, PACKAGE]]
    for name in columns[0]:
        print(f"| {name} | " + " | ".join(f"{column[name]}" for column in columns) + " |")


if __name__ == "__main__":
    main()
