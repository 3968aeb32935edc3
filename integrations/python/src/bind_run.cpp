#include <pybind11/stl.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/state_devices.h"
#include "integrations/python/src/bindings.h"
#include "integrations/python/src/given.h"
#include "integrations/python/src/locked.h"
#include "integrations/python/src/raise.h"
#include "integrations/python/src/stepped_run.h"
#include "integrations/python/src/to_python.h"
#include "sessions/job/run_report.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

StateOption state_of(const Given& given) {
  StateOption state;
  const auto fidelity = given.get<std::string>("state");
  if (!fidelity.empty() && fidelity != "symbolic" && fidelity != "bytes")
    raise(invalid_input("state is symbolic or bytes, not " + fidelity));
  if (!fidelity.empty())
    state.fidelity = fidelity == "bytes" ? StateFidelity::bytes : StateFidelity::symbolic;
  const auto backend = given.get<std::string>("backend");
  if (!backend.empty() && backend != "cpu" && backend != "cuda")
    raise(invalid_input("backend is cpu or cuda, not " + backend));
  if (!backend.empty())
    state.backend = backend == "cuda" ? StateBackendKind::cuda : StateBackendKind::cpu;
  if (const auto device = given.get<std::int32_t>("device", -1); device >= 0) state.device = device;
  return state;
}

RunOptions run_options_of(const Given& given) {
  RunOptions options;
  options.scenario = given.get<std::string>("scenario");
  options.scenario_text = given.get<std::string>("scenario_text");
  options.traffic = given.get<std::string>("traffic");
  options.model = given.get<std::string>("model");
  for (const auto& [key, value] :
       given.get<std::vector<std::pair<std::string, std::string>>>("settings"))
    raise_if_failed(options.settings.give(key, value));
  options.limit = given.get<std::int64_t>("limit");
  options.traffic_options = given.traffic();
  options.steps = given.get<std::int64_t>("steps");
  options.check = given.check();
  options.state = state_of(given);
  options.record = given.record();
  return options;
}

using LockedRun = Locked<SteppedRun>;

// use(run) where the run is at a step.
template <class Use>
auto at_step(LockedRun& locked, const Use& use) {
  return locked.use([&](SteppedRun& run) {
    if (!run.has_step()) raise({ErrorKind::not_found, "the run is at no step: it has not begun"});
    return use(run);
  });
}

std::unique_ptr<LockedRun> begin(const py::dict& options) {
  RunOptions read = run_options_of(Given(options));
  return without_gil([&] {
    return std::make_unique<LockedRun>(
        value_or_raise(SteppedRun::create(std::move(read), state_backends())));
  });
}

Told told_of(const ReportedRun& run) {
  return {.what = "steps", .done = run.summary().steps, .findings = run.num_errors()};
}

// An error ends the session as failed, an exception of the callback as interrupted.
void run_to_the_end(SteppedRun& run, Teller& teller) {
  try {
    while (true) {
      const auto stepped = run.step();
      if (!stepped.ok()) {
        (void)run.finish(false);
        raise(stepped.error());
      }
      if (!stepped.value()) break;
      teller.tell([&] { return told_of(run.run()); });
    }
    teller.call(told_of(run.run()));
  } catch (const py::error_already_set&) {
    (void)run.finish(true);
    throw;
  }
}

py::tuple finish(LockedRun& run) {
  auto end = run.use([](SteppedRun& stepped) {
    auto finished = value_or_raise(stepped.finish(false));
    return std::pair(report_to_json(stepped.run().plan(), finished.report),
                     std::string(finished.outcome));
  });
  return py::make_tuple(to_python(end.first), end.second);
}

}  // namespace

void bind_run(py::module_& module) {
  py::class_<LockedRun>(module, "Run")
      .def(py::init(&begin), py::arg("options"))
      .def("step",
           [](LockedRun& run) {
             return run.use([](SteppedRun& one) { return value_or_raise(one.step()); });
           })
      .def(
          "run",
          [](LockedRun& run, py::object tell) {
            Teller teller(std::move(tell));
            run.use([&](SteppedRun& one) { run_to_the_end(one, teller); });
          },
          py::arg("tell"))
      .def("as_dict",
           [](LockedRun& run) {
             return to_python(at_step(run, [](SteppedRun& one) { return one.step_as_json(); }));
           })
      .def("explain",
           [](LockedRun& run) {
             return at_step(run, [](SteppedRun& one) { return one.explain(); });
           })
      .def("findings",
           [](LockedRun& run) {
             return to_python(at_step(run, [](SteppedRun& one) { return one.findings(); }));
           })
      .def("notes",
           [](LockedRun& run) {
             return run.use([](SteppedRun& one) { return one.run().plan().notes; });
           })
      .def("finish", &finish);
}

}  // namespace hybridscope
