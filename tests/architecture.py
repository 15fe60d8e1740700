"""Reads a package's source without running it, and says where it breaks the architecture's laws.

Every rule takes the modules of one package as parsed by ``parse`` and returns one sentence a fault,
with its file and line. The rules know nothing of vidpipe's own packages: ``test_layering.py`` does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

ROOT = "vidpipe"


@dataclass(frozen=True)
class Import:
    """One name brought in by one statement."""

    line: int
    module: str
    """What is imported or imported from, dotted: a module of the project wherever it is one."""
    name: str
    """The name taken from it; empty for ``import module``."""
    level: int
    """The leading dots of a relative import."""
    is_local: bool
    """Whether it stands in a function."""


@dataclass(frozen=True)
class Module:
    """One source file."""

    path: str
    """Below the package's root, with forward slashes: ``config/load.py``."""
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed source."""
        return ast.parse(self.text, self.path)

    @cached_property
    def name(self) -> str:
        """The dotted name: ``vidpipe.config.load``."""
        parts = [ROOT, *PurePosixPath(self.path).with_suffix("").parts]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every import, wherever it stands (under TYPE_CHECKING and in functions too)."""
        return tuple(_imports_of(self.tree, is_local=False))

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Local names of imported things, and what they stand for, dotted."""
        names: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    # `import a.b` binds `a`
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    names[alias.asname or whole] = whole
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    names[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
        return names

    @cached_property
    def definitions(self) -> frozenset[str]:
        """The names that the module itself defines at its top level."""
        return frozenset(_definitions_of(self.tree.body))

    def fault(self, line: int, sentence: str) -> str:
        """Return the sentence with its place."""
        return f"{ROOT}/{self.path}:{line}: {sentence}"

    def dotted(self, node: ast.expr) -> str:
        """Return what a name or attribute stands for, dotted; empty for other expressions."""
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id, node.id)
        if isinstance(node, ast.Attribute) and (owner := self.dotted(node.value)):
            return f"{owner}.{node.attr}"
        return ""


Modules = Mapping[str, Module]
"""By dotted name."""


def parse(sources: Mapping[str, str]) -> dict[str, Module]:
    """Return the modules of a package, given its source texts by path below its root."""
    modules = [Module(path, text) for path, text in sorted(sources.items())]
    return {module.name: module for module in modules}


def read(root: Path) -> dict[str, Module]:
    """Return the modules of the package in a folder."""
    return parse(
        {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in root.rglob("*.py")}
    )


def _imports_of(node: ast.AST, *, is_local: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(child.lineno, alias.name, "", 0, is_local)
        elif isinstance(child, ast.ImportFrom):
            for alias in child.names:
                yield Import(child.lineno, child.module or "", alias.name, child.level, is_local)
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports_of(child, is_local=is_local or is_function)


def _definitions_of(body: list[ast.stmt]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id
        elif isinstance(statement, ast.If | ast.Try | ast.With | ast.For):
            for nested in (getattr(statement, field, []) for field in ("body", "orelse")):
                yield from _definitions_of(nested)


def targets(module: Module, modules: Modules) -> Iterator[tuple[Import, str]]:
    """Yield each import of the project's own modules with the module that it reaches."""
    for item in module.imports:
        if item.module.partition(".")[0] != ROOT:
            continue
        submodule = f"{item.module}.{item.name}"
        yield item, submodule if submodule in modules else item.module


def unit_of(name: str) -> str:
    """Return the layer's unit of a dotted module name: its package, or the module at the root."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ROOT


# ---- The rules ---------------------------------------------------------------------------------


def check_law(modules: Modules, law: Mapping[str, Set[str]]) -> Iterator[str]:
    """Each unit imports only the units (or, dotted below the root, single modules) of its law."""
    for module in modules.values():
        unit = unit_of(module.name)
        if unit not in law:
            yield module.fault(1, f"{unit} has no place in the import law")
            continue
        for item, target in targets(module, modules):
            reached = unit_of(target)
            allowed = law[unit] | {unit}
            if reached not in allowed and target.removeprefix(f"{ROOT}.") not in allowed:
                yield module.fault(item.line, f"{unit} may not import {target}")


def check_composition(
    modules: Modules, stages: Set[str], composer: str, most: int
) -> Iterator[str]:
    """Outside the stages only the composer may know more than a few of them."""
    for module in modules.values():
        if module.path == composer or unit_of(module.name) in stages:
            continue
        known = {unit_of(target) for _, target in targets(module, modules)} & stages
        if len(known) > most:
            names = ", ".join(sorted(known))
            yield module.fault(1, f"knows {len(known)} stages ({names}): only {composer} may")


def check_cycles(modules: Modules) -> Iterator[str]:
    """No module reaches itself, and no package another that reaches it."""
    by_module: dict[str, set[str]] = {name: set() for name in modules}
    by_unit: dict[str, set[str]] = {unit_of(name): set() for name in modules}
    for module in modules.values():
        for _, target in targets(module, modules):
            by_module[module.name].add(target)
            if unit_of(target) != unit_of(module.name):
                by_unit[unit_of(module.name)].add(unit_of(target))
    for graph in (by_module, by_unit):
        for cycle in _cycles_of(graph):
            yield f"a cycle: {' -> '.join(cycle)}"


def _cycles_of(graph: Mapping[str, Set[str]]) -> Iterator[list[str]]:
    """Yield one path for each edge that closes a cycle in a depth-first walk."""
    done: set[str] = set()

    def walk(node: str, path: list[str]) -> Iterator[list[str]]:
        if node in path:
            yield [*path[path.index(node) :], node]
        elif node not in done:
            for following in sorted(graph.get(node, ())):
                yield from walk(following, [*path, node])
            done.add(node)

    for start in sorted(graph):
        yield from walk(start, [])


def check_imports(modules: Modules, lazy: tuple[str, ...]) -> Iterator[str]:
    """No relative, starred or dynamic import; none in a function but below ``lazy``.

    The root's ``__init__`` imports what it exports when that is asked for (PEP 562): with OpenVINO
    and OpenCV behind every ``import vidpipe``, the command line would take a second to answer.
    """
    for module in modules.values():
        may_delay = module.path.startswith(lazy) or module.name == ROOT
        for item in module.imports:
            if item.level:
                yield module.fault(item.line, "a relative import")
            if item.name == "*":
                yield module.fault(item.line, f"everything from {item.module}")
            if item.is_local and not may_delay:
                yield module.fault(item.line, f"imports {item.module} in a function")
        for call in () if module.name == ROOT else _calls_of(module):
            if module.dotted(call.func) in {"importlib.import_module", "__import__"}:
                yield module.fault(call.lineno, "a dynamic import")


def check_re_exports(modules: Modules) -> Iterator[str]:
    """A name is imported from the module that defines it."""
    for module in modules.values():
        for item, target in targets(module, modules):
            source = modules.get(target)
            if source is None:
                yield module.fault(item.line, f"imports {target}, which doesn't exist")
            elif target == item.module and item.name not in {"", "*", *source.definitions}:
                yield module.fault(item.line, f"takes {item.name} from {target}, not its home")


SILENCERS = {
    "vidpipe.inference": ("import sys", "sys.modules.setdefault('openvino_telemetry', None)")
}
"""What must happen before anything of a package is imported, since OpenVINO reports its import."""


def check_hollow_inits(modules: Modules) -> Iterator[str]:
    """A package's ``__init__`` is a docstring; the root's may export and state the version."""
    for module in modules.values():
        if PurePosixPath(module.path).name != "__init__.py":
            continue
        if ast.get_docstring(module.tree) is None:
            yield module.fault(1, "no docstring")
        for statement in module.tree.body:
            if _is_text(statement) or (module.name == ROOT and _is_export(statement)):
                continue
            if ast.unparse(statement).startswith(SILENCERS.get(module.name, ("\n",))):
                continue
            yield module.fault(statement.lineno, "more than a docstring in an __init__")


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_export(statement: ast.stmt) -> bool:
    """Imports, ``__all__`` and its like, and ``__getattr__``, which imports later."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return True
    if isinstance(statement, ast.If):
        return _is_for_type_checkers(statement.test) and all(map(_is_export, statement.body))
    if isinstance(statement, ast.FunctionDef):
        return statement.name in {"__getattr__", "__dir__"}
    return isinstance(statement, ast.Assign | ast.AnnAssign) and all(
        name.startswith("_") for name in _definitions_of([statement])
    )


def _is_for_type_checkers(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "not TYPE_CHECKING"}


def check_fence(modules: Modules, packages: Set[str], homes: tuple[str, ...]) -> Iterator[str]:
    """Foreign packages are imported only below the paths in ``homes``."""
    for module in modules.values():
        if module.path.startswith(homes):
            continue
        for item in module.imports:
            if item.module.partition(".")[0] in packages and not item.level:
                yield module.fault(item.line, f"imports {item.module}: its place is {homes}")


def check_uses(modules: Modules, names: Set[str], homes: tuple[str, ...]) -> Iterator[str]:
    """Certain foreign names are taken (called, derived from, aliased) only below ``homes``."""
    for module in modules.values():
        if module.path.startswith(homes):
            continue
        taken: list[ast.expr] = []
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call):
                taken.append(node.func)
            elif isinstance(node, ast.ClassDef):
                taken.extend(node.bases)
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                taken.append(node.value)
        for place in taken:
            if (name := module.dotted(place)) in names:
                yield module.fault(place.lineno, f"{name}: its place is {homes}")


def _calls_of(module: Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(module.tree) if isinstance(node, ast.Call))


def check_shape(modules: Modules, names: Set[str], most_lines: int) -> Iterator[str]:
    """No module or package has an empty name, and none is longer than one can read."""
    for module in modules.values():
        for part in PurePosixPath(module.path).with_suffix("").parts:
            if part.strip("_") in names:
                yield module.fault(1, f"'{part}' says nothing of what is in it")
        if (lines := len(module.text.splitlines())) > most_lines:
            yield module.fault(lines, f"{lines} lines: more than {most_lines}, to be split")
