#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/state_devices.h"
#include "integrations/python/src/bindings.h"
#include "integrations/python/src/job_books.h"
#include "integrations/python/src/line_thread.h"
#include "integrations/python/src/python_values.h"
#include "sessions/job/run_options.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

using LockedPlan = Locked<PlanBook>;

PlanJobOptions plan_options_of(const Given& given) {
  PlanJobOptions options;
  options.traffic = given.get<std::string>("traffic");
  options.traffic_options = given.traffic();
  options.model = given.get<std::string>("model");
  for (const auto& [key, value] :
       given.get<std::vector<std::pair<std::string, std::string>>>("settings"))
    raise_if_failed(options.settings.give(key, value));
  options.limit = given.get<std::int64_t>("limit");
  options.sweeps = given.get<std::vector<std::string>>("sweeps");
  options.prefer = given.get<std::string>("prefer", options.prefer);
  options.step_time = given.get<std::string>("step_time");
  options.out = given.get<std::string>("out");
  return options;
}

std::unique_ptr<LockedPlan> make_plan(const py::dict& options) {
  const PlanJobOptions read = plan_options_of(Given(options));
  return without_gil([&] {
    return std::make_unique<LockedPlan>(
        std::make_unique<PlanBook>(value_or_raise(PlanBook::create(read))));
  });
}

// A worker gets many combinations of one plan: it reads the traffic and folds its prompts once.
class LastPlan {
 public:
  // `text`: tells plans apart.
  std::shared_ptr<PlanJob> of(const std::string& text, const PlanJobOptions& options) {
    const std::scoped_lock lock(mutex_);
    if (job_ == nullptr || text != text_) {
      job_ = std::make_shared<PlanJob>(value_or_raise(make_plan_job(options)));
      text_ = text;
    }
    return job_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
  std::shared_ptr<PlanJob> job_;
};

std::string run_here(const py::dict& options, const std::string& name) {
  static LastPlan last;
  PlanJobOptions read = plan_options_of(Given(options));
  read.out.clear();  // whoever collects the results writes the file
  const std::string text = py::repr(options);
  Teller signals(py::none{});
  return without_gil([&] {
    const std::shared_ptr<PlanJob> shared = last.of(text, read);
    PlanRunOptions run = shared->options.run;
    run.go_on = [&signals] {
      signals.tell([] { return Told{}; });
      return true;
    };
    return value_or_raise(run_plan_job(*shared, name, std::move(run)));
  });
}

}  // namespace

void bind_plan(py::module_& module) {
  py::class_<LockedPlan>(module, "Plan")
      .def(py::init(&make_plan), py::arg("options"))
      .def("missing", method(&PlanBook::missing))
      .def("add", method(&PlanBook::add), py::arg("line"))
      .def("report", method(&PlanBook::report))
      .def("text", method(&PlanBook::text));
  module.def("run_plan_case", &run_here, py::arg("options"), py::arg("name"));
}

namespace {

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
      .def("missing_cells", method(&MatrixBook::missing_cells))
      .def("add_cell", method(&MatrixBook::add_cell), py::arg("cell"))
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
      .def("report", method(&MatrixBook::report))
      .def("text", method(&MatrixBook::text))
      .def("is_safe", method(&MatrixBook::all_safe))
      .def("scenarios", method(&MatrixBook::scenarios));
  module.def("run_matrix_cell", &run_cell_here, py::arg("options"), py::arg("name"));
  module.def("shrink_matrix_fault", &shrink_here, py::arg("options"), py::arg("key"),
             py::arg("cells"));
}

}  // namespace hybridscope
