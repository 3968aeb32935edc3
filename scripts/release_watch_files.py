"""What changed between two wheels of vllm in the files that this tree mirrors: functions, fields of
classes, classes and the model registry. Comments, docstrings and formatting are not compared."""

import ast
import difflib
import re
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZipFile

# A file of the wheel, and the part of this tree that does what it does.
MIRRORED = {
    "vllm/v1/core/block_pool.py": "core/caching/block_pool.cpp",
    "vllm/v1/core/kv_cache_coordinator.py": "core/caching/hybrid_coordinator.cpp",
    "vllm/v1/core/kv_cache_manager.py": "core/caching/kv_cache_manager.cpp",
    "vllm/v1/core/kv_cache_utils.py":
        "core/caching/block_hash.cpp, sessions/startup/cache_groups.cpp",
    "vllm/v1/core/kv_cache_planning.py": "sessions/startup/cache_groups.cpp",
    "vllm/v1/core/single_type_kv_cache_manager.py":
        "core/caching/single_type_manager.cpp, core/caching/mamba_manager.cpp",
    "vllm/v1/core/sched/scheduler.py": "core/engine/scheduler.cpp, core/engine/aligned_split.cpp",
    "vllm/v1/core/sched/async_scheduler.py": "core/engine/scheduler.cpp",
    "vllm/v1/core/sched/output.py": "core/engine/scheduler.h",
    "vllm/v1/core/sched/request_queue.py": "core/engine/scheduler_waiting.cpp",
    "vllm/v1/core/sched/utils.py": "core/engine/scheduler.cpp",
    "vllm/v1/request.py": "core/engine/engine_request.cpp",
    "vllm/v1/kv_cache_interface.py":
        "core/model/kv_cache_spec.cpp, sessions/startup/layer_spec.cpp",
    "vllm/v1/cudagraph_dispatcher.py": "core/metadata, core/engine/batch_metadata.cpp",
    "vllm/v1/attention/backend.py": "core/metadata",
    "vllm/v1/attention/backends/utils.py": "core/metadata",
    "vllm/v1/attention/backends/mamba_attn.py": "core/metadata/mamba_builder.cpp",
    "vllm/v1/attention/backends/mamba1_attn.py": "core/metadata/mamba_builder.cpp",
    "vllm/v1/attention/backends/mamba2_attn.py": "core/metadata/mamba2_builder.cpp",
    "vllm/v1/attention/backends/gdn_attn.py": "core/metadata/gdn_builder.cpp",
    "vllm/v1/worker/mamba_utils.py": "core/engine/copy_rows.cpp, core/state",
    "vllm/v1/worker/block_table.py": "core/engine/block_table.cpp",
    "vllm/v1/worker/gpu_input_batch.py": "core/engine/batch_rows_v1.cpp",
    "vllm/v1/worker/gpu_model_runner.py": "core/engine/worker_v1.cpp",
    "vllm/v1/worker/gpu/model_runner.py": "core/engine/worker_v2.cpp",
    "vllm/v1/worker/gpu/states.py": "core/engine/batch_slots_v2.cpp",
    "vllm/v1/worker/gpu/input_batch.py": "core/engine/row_inputs.cpp",
    "vllm/v1/worker/gpu/block_table.py": "core/engine/block_table.cpp",
    "vllm/v1/worker/gpu/cudagraph_utils.py": "core/engine/batch_metadata.cpp",
    "vllm/v1/worker/gpu/attn_utils.py": "core/engine/batch_metadata_build.cpp",
    "vllm/v1/worker/gpu/model_states/mamba_hybrid.py": "core/engine/worker_v2.cpp",
    "vllm/v1/sample/rejection_sampler.py": "core/engine/worker.cpp",
    "vllm/v1/engine/core.py": "core/engine/engine.cpp",
    "vllm/config/cache.py": "sessions/scenario/settings.cpp",
    "vllm/config/mamba.py": "sessions/scenario/settings.cpp",
    "vllm/config/scheduler.py": "sessions/scenario/settings.cpp",
    "vllm/config/speculative.py": "sessions/scenario/settings.cpp",
    "vllm/config/compilation.py": "sessions/scenario/settings.cpp",
    "vllm/config/vllm.py":
        "sessions/scenario/engine_setup.cpp, sessions/startup/startup_config.cpp",
    "vllm/engine/arg_utils.py": "sessions/startup/startup_settings.cpp",
    "vllm/platforms/interface.py": "sessions/startup/layer_spec.cpp",
    "vllm/model_executor/models/config.py": "sessions/startup/layer_spec.cpp",
    "vllm/model_executor/layers/mamba/mamba_utils.py": "core/model/state_shape.cpp",
    "vllm/model_executor/layers/mamba/abstract.py": "core/model/kv_cache_spec.cpp",
    "vllm/model_executor/layers/mamba/checkpoint.py": "core/engine/batch_metadata.cpp",
    "vllm/model_executor/layers/mamba/mamba_mixer2.py": "core/numeric, kernels",
    "vllm/model_executor/layers/mamba/gdn/qwen_gdn_linear_attn.py": "core/numeric, kernels",
    "vllm/model_executor/layers/mamba/ops/causal_conv1d.py": "core/numeric, kernels",
    "vllm/model_executor/layers/mamba/ops/mamba_ssm.py": "core/numeric, kernels",
    "vllm/model_executor/layers/mamba/ops/ssd_checkpoint.py": "core/numeric, kernels",
}
REGISTRY = "vllm/model_executor/models/registry.py"
ARCHITECTURES = "sessions/startup/architectures.cpp"
# In these folders files that are not in the table are named too, if they changed or are new.
FOLDERS = ("vllm/v1/core/", "vllm/v1/worker/gpu/model_states/",
           "vllm/v1/attention/backends/", "vllm/model_executor/layers/mamba/")
# Bases of a model's class that keeps recurrent states.
HYBRID = {"IsHybrid", "HasInnerState"}
# What a class is by the last word of its name or of a base.
ROLES = ("Spec", "Manager", "Coordinator", "Builder", "Metadata", "Scheduler")
DIFF_LINES = 80


@dataclass
class Element:
    kind: str  # function, class, field
    text: str


@dataclass
class FileChange:
    path: str
    room: str
    state: str = "changed"  # or new, gone
    added: dict[str, Element] = field(default_factory=dict)
    removed: dict[str, Element] = field(default_factory=dict)
    changed: dict[str, tuple[Element, Element]] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)  # function: where it was or is now

    def names(self, kind: str) -> tuple[list[str], list[str], list[str]]:
        """What was added, removed and changed of a kind."""
        return ([name for name, one in self.added.items() if one.kind == kind],
                [name for name, one in self.removed.items() if one.kind == kind],
                [name for name, (one, _) in self.changed.items() if one.kind == kind])


@dataclass
class Registry:
    added: dict[str, bool] = field(default_factory=dict)  # architecture: keeps recurrent states
    removed: dict[str, bool] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)  # changed ones of architectures known here
    not_known_here: list[str] = field(default_factory=list)  # hybrid in the new release


def elements(text: str) -> dict[str, Element]:
    """Functions, classes and fields of a module by qualified name."""
    found: dict[str, Element] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.If):  # "if TYPE_CHECKING:", "if has_triton:"
                visit(node.body, prefix)
                visit(node.orelse, prefix)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = prefix + node.name
                if name in found:  # a setter or an overload
                    name += f"#{sum(key.split('#')[0] == name for key in found)}"
                found[name] = Element("function", ast.unparse(without_docstrings(node)))
            elif isinstance(node, ast.ClassDef):
                bases = ", ".join(ast.unparse(base) for base in node.bases)
                found[prefix + node.name] = Element("class", f"class {node.name}({bases})")
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found[prefix + node.target.id] = Element("field", ast.unparse(node))
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found[prefix + node.targets[0].id] = Element("field", ast.unparse(node))

    visit(ast.parse(text).body, "")
    return found


def without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) \
                    and isinstance(first.value.value, str):
                node.body[:1] = [] if len(node.body) > 1 else [ast.Pass()]
    return tree


def compare(path: str, before: str | None, after: str | None) -> FileChange | None:
    """None: no difference that the elements show."""
    change = FileChange(path, MIRRORED.get(path, ""))
    if before is None and after is None:
        return None
    change.state = "new" if before is None else "gone" if after is None else "changed"
    old, new = elements(before or ""), elements(after or "")
    change.added = {name: new[name] for name in new if name not in old}
    change.removed = {name: old[name] for name in old if name not in new}
    change.changed = {name: (old[name], new[name]) for name in old
                      if name in new and old[name].text != new[name].text}
    return change if change.added or change.removed or change.changed else None


def diff(before: Element, after: Element) -> list[str]:
    lines = list(difflib.unified_diff(before.text.splitlines(), after.text.splitlines(),
                                      lineterm="", n=2))[2:]
    if len(lines) > DIFF_LINES:
        lines[DIFF_LINES:] = [f"... {len(lines) - DIFF_LINES} more lines"]
    return lines


def read(wheel: ZipFile, path: str) -> str | None:
    return wheel.read(path).decode("utf-8") if path in wheel.NameToInfo else None


def changes(before: ZipFile, after: ZipFile) -> list[FileChange]:
    """The mirrored files in the table's order."""
    compared = (compare(path, read(before, path), read(after, path)) for path in MIRRORED)
    found = [change for change in compared if change]
    note_moves(found)
    return [change for change in found if change.added or change.removed or change.changed
            or change.moved]


def note_moves(found: list[FileChange]) -> None:
    """What went from one mirrored file to another under its name: where it came from it is moved,
    where it is now it is moved too, and changed if its text differs."""
    gone = {name: (change, one) for change in found for name, one in change.removed.items()
            if one.kind != "field"}
    for change in found:
        for name in [name for name in change.added if name in gone]:
            old_change, old = gone[name]
            new = change.added.pop(name)
            del old_change.removed[name]
            old_change.moved[name] = f"to {change.path}"
            change.moved[name] = f"from {old_change.path}"
            if old.text != new.text:
                change.changed[name] = (old, new)


def beside(before: ZipFile, after: ZipFile) -> list[tuple[str, str]]:
    """(path, new, gone or changed) of files in the folders of mirrored ones."""
    names = sorted({name for wheel in (before, after) for name in wheel.NameToInfo
                    if name.startswith(FOLDERS) and name.endswith(".py") and name not in MIRRORED})
    found = []
    for name in names:
        old, new = before.NameToInfo.get(name), after.NameToInfo.get(name)
        if old and new and old.CRC == new.CRC:
            continue
        found.append((name, "changed" if old and new else "new" if new else "gone"))
    return found


def architectures(wheel: ZipFile) -> dict[str, tuple[str, str]]:
    """Architecture: its module in vllm/model_executor/models and its class, of every table of the
    registry."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.parse(read(wheel, REGISTRY) or "").body:
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(value, ast.Dict):
            for key, row in zip(value.keys, value.values):
                if isinstance(key, ast.Constant) and isinstance(row, ast.Tuple):
                    words = [one.value for one in row.elts if isinstance(one, ast.Constant)]
                    if len(words) == 2:
                        found[str(key.value)] = (str(words[0]), str(words[1]))
    return found


class Models:
    """The modules of the models of a wheel."""

    def __init__(self, wheel: ZipFile) -> None:
        self.wheel = wheel
        self.rows = architectures(wheel)
        self.module_of = {name: module for module, name in self.rows.values()}
        self.bases: dict[str, dict[str, list[str]]] = {}  # of each class of a module

    def text(self, module: str) -> str:
        """The module's source, of all its files where it is a package."""
        path = f"vllm/model_executor/models/{module.replace('.', '/')}"
        names = [name for name in self.wheel.NameToInfo
                 if name == f"{path}.py" or (name.startswith(f"{path}/") and name.endswith(".py"))]
        return "\n".join(read(self.wheel, name) or "" for name in sorted(names))

    def is_hybrid(self, architecture: str) -> bool:
        """Does its class, or one that it is made from, keep recurrent states?"""
        asked, seen = [self.rows[architecture]], set()
        while asked:
            module, name = asked.pop()
            if (module, name) in seen:
                continue
            seen.add((module, name))
            for base in self.bases_of(module).get(name, ()):
                if base in HYBRID:
                    return True
                known = base in self.bases_of(module)
                asked.append((module if known else self.module_of.get(base, module), base))
        return False

    def bases_of(self, module: str) -> dict[str, list[str]]:
        if module not in self.bases:
            self.bases[module] = {
                node.name: [ast.unparse(base).split(".")[-1] for base in node.bases]
                for node in ast.walk(without_future(self.text(module)))
                if isinstance(node, ast.ClassDef)}
        return self.bases[module]


def without_future(text: str) -> ast.Module:
    """Several files as one: __future__ imports stand at the beginning of a file only."""
    return ast.parse(re.sub(r"^from __future__ .*$", "", text, flags=re.MULTILINE))


def compare_registry(before: ZipFile, after: ZipFile, root: Path) -> Registry:
    ours = set(re.findall(r'"(\w+)"', (root / ARCHITECTURES).read_text(encoding="utf-8")))
    old, new = Models(before), Models(after)
    found = Registry()
    for name, (module, _) in new.rows.items():
        if name not in old.rows:
            found.added[name] = new.is_hybrid(name)
        if name not in ours and "MTP" not in name and new.is_hybrid(name):
            found.not_known_here.append(name)
        if name in ours and name in old.rows and module not in found.modules \
                and new.text(module) != old.text(old.rows[name][0]):
            found.modules.append(module)
    found.removed = {name: old.is_hybrid(name) for name in old.rows if name not in new.rows}
    return found


def fields(file_changes: list[FileChange], folders: tuple[str, ...],
           of: str) -> list[tuple[str, str, str]]:
    """(class.field, before, after) of classes whose names end in one of the words; "" is absent."""
    found = []
    for change in file_changes:
        if not change.path.startswith(folders):
            continue
        pairs = [(name, "", one.text) for name, one in change.added.items() if one.kind == "field"]
        pairs += [(name, one.text, "") for name, one in change.removed.items()
                  if one.kind == "field"]
        pairs += [(name, one.text, other.text) for name, (one, other) in change.changed.items()
                  if one.kind == "field"]
        found += [(name, old, new) for name, old, new in pairs
                  if re.search(rf"(?:{of})\.[a-z]\w*$", name)]
    return found


def settings(file_changes: list[FileChange]) -> list[tuple[str, str, str]]:
    """Fields of configurations and command-line arguments."""
    return fields(file_changes, ("vllm/config/", "vllm/engine/"), "Config|Args")


def fields_of_decisions(file_changes: list[FileChange]) -> list[tuple[str, str, str]]:
    """Fields of specs, metadata and what a scheduler gives out."""
    return fields(file_changes, ("vllm/v1/", "vllm/model_executor/"),
                  "Spec|Metadata|Config|Output|Request|State")


def classes(file_changes: list[FileChange]) -> list[tuple[str, str, str]]:
    """(new or gone, class, file) of those that have a role."""
    return [(state, one.text.removeprefix("class "), change.path)
            for change in file_changes
            for state, group in (("new", change.added), ("gone", change.removed))
            for one in group.values()
            if one.kind == "class" and re.search(rf"(?:{'|'.join(ROLES)})\b", one.text)]
