#include "integrations/python/src/locked.h"

#include <pybind11/stl.h>

namespace hybridscope {

namespace py = pybind11;

void Teller::call(const Told& told) const {
  const py::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (!callback_.is_none()) callback_(told.what, told.done, told.total, told.findings);
}

}  // namespace hybridscope
