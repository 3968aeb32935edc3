// hybridscope._native: what the package's Python files are built on. Its functions take and return
// text, numbers, lists and dicts; types and docstrings for users are in the Python files.
#include <pybind11/pybind11.h>

#include "integrations/python/src/bindings.h"
#include "integrations/python/src/python_values.h"
#include "sessions/job/version.h"

PYBIND11_MODULE(_native, module) {
  module.doc() = "The library of hybridscope; use the package hybridscope instead.";
  module.attr("VERSION") = hybridscope::kVersion;
  hybridscope::register_exceptions();
  hybridscope::bind_diff(module);
  hybridscope::bind_hashes(module);
  hybridscope::bind_judge(module);
  hybridscope::bind_live(module);
  hybridscope::bind_matrix(module);
  hybridscope::bind_plan(module);
  hybridscope::bind_run(module);
  hybridscope::bind_sessions(module);
  hybridscope::bind_values(module);
}
