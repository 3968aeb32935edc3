#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/state_devices.h"
#include "integrations/python/src/bindings.h"
#include "integrations/python/src/given.h"
#include "integrations/python/src/locked.h"
#include "integrations/python/src/matrix_book.h"
#include "integrations/python/src/raise.h"
#include "integrations/python/src/to_python.h"
#include "sessions/job/settings_options.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

using LockedMatrix = Locked<MatrixBook>;

MatrixJobOptions matrix_options_of(const Given& given) {
  MatrixJobOptions options;
  options.engine = value_or_raise(engine_profile_called(given.get<std::string>("engine")));
  options.policies = given.get<std::vector<std::string>>("policies");
  options.only = given.get<std::vector<std::string>>("only");
  options.scenarios = given.get<std::int64_t>("scenarios", options.scenarios);
  if (options.scenarios < 1) raise(invalid_input("scenarios is 1 or more"));
  options.seed = given.get<std::uint64_t>("seed", options.seed);
  options.labels_only = given.get<bool>("labels_only");
  options.folder = given.get<std::string>("folder");
  return options;
}

std::unique_ptr<LockedMatrix> make_matrix(const py::dict& options) {
  const MatrixJobOptions read = matrix_options_of(Given(options));
  return without_gil([&] {
    return std::make_unique<LockedMatrix>(
        std::make_unique<MatrixBook>(value_or_raise(MatrixBook::create(read, state_backends()))));
  });
}

// Looks for Ctrl-C before each scenario.
CellRunOptions cell_options_of(const MatrixJobOptions& options, Teller& signals) {
  CellRunOptions run = value_or_raise(cell_run_options(options, state_backends()));
  run.go_on = [&signals] {
    signals.tell([] { return Told{}; });
    return true;
  };
  return run;
}

std::string run_cell_here(const py::dict& options, const std::string& name) {
  const MatrixJobOptions read = matrix_options_of(Given(options));
  Teller signals(py::none{});
  return without_gil(
      [&] { return value_or_raise(run_matrix_cell(name, cell_options_of(read, signals))); });
}

py::tuple shrink_here(const py::dict& options, const std::string& key,
                      const std::vector<std::string>& cells) {
  const MatrixJobOptions read = matrix_options_of(Given(options));
  Teller signals(py::none{});
  const FaultLines shrunk = without_gil([&] {
    return value_or_raise(
        shrink_matrix_fault({.key = key, .cells = cells}, cell_options_of(read, signals)));
  });
  return py::make_tuple(shrunk.fault, shrunk.scenario);
}

}  // namespace

void bind_matrix(py::module_& module) {
  py::class_<LockedMatrix>(module, "Matrix")
      .def(py::init(&make_matrix), py::arg("options"))
      .def("missing_cells",
           [](LockedMatrix& matrix) {
             return matrix.use([](MatrixBook& book) { return book.missing_cells(); });
           })
      .def(
          "add_cell",
          [](LockedMatrix& matrix, const std::string& cell) {
            return matrix.use(
                [&](MatrixBook& book) { return value_or_raise(book.add_cell(cell)); });
          },
          py::arg("cell"))
      .def("missing_faults",
           [](LockedMatrix& matrix) {
             std::vector<std::pair<std::string, std::vector<std::string>>> missing;
             for (MissingFault& one :
                  matrix.use([](MatrixBook& book) { return book.missing_faults(); }))
               missing.emplace_back(std::move(one.key), std::move(one.cells));
             return missing;
           })
      .def(
          "add_fault",
          [](LockedMatrix& matrix, const std::string& fault, const std::string& scenario) {
            matrix.use([&](MatrixBook& book) {
              raise_if_failed(book.add_fault({.fault = fault, .scenario = scenario}));
            });
          },
          py::arg("fault"), py::arg("scenario"))
      .def("report",
           [](LockedMatrix& matrix) {
             return to_python(matrix.use([](MatrixBook& book) { return book.report(); }));
           })
      .def("text",
           [](LockedMatrix& matrix) {
             return matrix.use([](MatrixBook& book) { return book.text(); });
           })
      .def("is_safe",
           [](LockedMatrix& matrix) {
             return matrix.use([](MatrixBook& book) { return book.all_safe(); });
           })
      .def("scenarios", [](LockedMatrix& matrix) {
        return matrix.use([](MatrixBook& book) { return value_or_raise(book.scenarios()); });
      });
  module.def("run_matrix_cell", &run_cell_here, py::arg("options"), py::arg("name"));
  module.def("shrink_matrix_fault", &shrink_here, py::arg("options"), py::arg("key"),
             py::arg("cells"));
}

}  // namespace hybridscope
