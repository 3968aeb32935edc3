// The parts of the module hybridscope._native, one a source file.
#pragma once

#include <pybind11/pybind11.h>

namespace hybridscope {

void bind_diff(pybind11::module_& module);
void bind_hashes(pybind11::module_& module);
void bind_judge(pybind11::module_& module);
void bind_live(pybind11::module_& module);
void bind_matrix(pybind11::module_& module);
void bind_plan(pybind11::module_& module);
void bind_run(pybind11::module_& module);
void bind_sessions(pybind11::module_& module);
void bind_values(pybind11::module_& module);

}  // namespace hybridscope
