"""Functions that run when a module has been imported."""

import importlib.abc
import importlib.util
import sys


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing by itself: it adds the functions to what the other finders find."""

    def __init__(self):
        self.functions = {}  # module name -> functions that wait for it

    def find_spec(self, name, path=None, target=None):
        functions = self.functions.pop(name, None)
        if functions is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                for function in functions:
                    function(module)

            spec.loader.exec_module = exec_module
        return spec


_finder = _Finder()


def after_import(name, function):
    """Calls function(module) once module `name` is imported; at once if it already is."""
    if name in sys.modules:
        function(sys.modules[name])
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.functions.setdefault(name, []).append(function)
