"""The Python package as its sources lie, without its compiled module."""

import importlib.util
import sys
import types
from pathlib import Path

INTEGRATIONS = Path(__file__).resolve().parents[2] / "integrations"


def use_sources():
    """Makes `import hybridscope.vllm...` find the sources."""
    package = types.ModuleType("hybridscope")
    package.__path__ = [str(INTEGRATIONS / "python" / "hybridscope")]
    sys.modules["hybridscope"] = package
    name, file = "hybridscope.hybridscope_trace", INTEGRATIONS / "vllm" / "hybridscope_trace.py"
    spec = importlib.util.spec_from_file_location(name, file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    package.hybridscope_trace = module
