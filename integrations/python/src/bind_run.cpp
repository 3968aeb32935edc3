#include <pybind11/stl.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/state_devices.h"
#include "integrations/python/src/bindings.h"
#include "integrations/python/src/line_thread.h"
#include "integrations/python/src/open_session.h"
#include "integrations/python/src/python_values.h"
#include "integrations/python/src/stepped_run.h"
#include "sessions/job/reported_run.h"
#include "sessions/job/session_json.h"

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
  options.files = given.files();
  return options;
}

using LockedRun = Locked<SteppedRun>;

// method() of a run that is at a step.
template <class R>
auto at_step(R (SteppedRun::*function)() const) {
  return [function](LockedRun& locked) {
    return as_python(locked.use([&](SteppedRun& run) {
      if (!run.has_step()) raise({ErrorKind::not_found, "the run is at no step: it has not begun"});
      return (run.*function)();
    }));
  };
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
      .def("step", method(&SteppedRun::step))
      .def(
          "run",
          [](LockedRun& run, py::object tell) {
            Teller teller(std::move(tell));
            run.use([&](SteppedRun& one) { run_to_the_end(one, teller); });
          },
          py::arg("tell"))
      .def("as_dict", at_step(&SteppedRun::step_as_json))
      .def("explain", at_step(&SteppedRun::explain))
      .def("findings", at_step(&SteppedRun::findings))
      .def("notes",
           [](LockedRun& run) {
             return run.use([](SteppedRun& one) { return one.run().plan().notes; });
           })
      .def("finish", &finish);
}

namespace {

using LockedSession = Locked<OpenSession>;

template <class Number>
py::bytes packed(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

// (name, "int", int64s as bytes, NULLs as bytes or None), the same with "float", or
// (name, "values", list, None).
py::tuple to_tuple(const QueryColumn& column) {
  if (column.kind() == QueryColumn::Kind::any) {
    py::list values(column.any().size());
    for (std::size_t row = 0; row < column.any().size(); ++row)
      values[row] = to_python(query_value_to_json(column.any()[row]));
    return py::make_tuple(column.name(), "values", values, py::none());
  }
  const py::object missing =
      column.has_missing() ? py::object(packed(column.missing())) : py::none();
  if (column.kind() == QueryColumn::Kind::whole)
    return py::make_tuple(column.name(), "int", packed(column.whole()), missing);
  return py::make_tuple(column.name(), "float", packed(column.real()), missing);
}

py::object value_at(const QueryColumn& column, std::size_t row) {
  if (column.missing()[row] != 0) return py::none();
  if (column.kind() == QueryColumn::Kind::whole) return py::int_(column.whole()[row]);
  if (column.kind() == QueryColumn::Kind::real) return py::float_(column.real()[row]);
  return to_python(query_value_to_json(column.any()[row]));
}

std::vector<QueryColumn> columns_of(LockedSession& session, const std::string& sql) {
  return session.use([&](OpenSession& open) { return value_or_raise(open.query(sql)); });
}

py::list query(LockedSession& session, const std::string& sql) {
  py::list columns;
  for (const QueryColumn& column : columns_of(session, sql)) columns.append(to_tuple(column));
  return columns;
}

py::list query_rows(LockedSession& session, const std::string& sql) {
  const std::vector<QueryColumn> columns = columns_of(session, sql);
  py::list rows;
  const std::size_t num_rows = columns.empty() ? 0 : columns.front().missing().size();
  for (std::size_t row = 0; row < num_rows; ++row) {
    py::dict one;
    for (const QueryColumn& column : columns) one[py::str(column.name())] = value_at(column, row);
    rows.append(one);
  }
  return rows;
}

}  // namespace

void bind_sessions(py::module_& module) {
  py::class_<LockedSession>(module, "Session")
      .def(py::init([](const std::string& place) {
             return without_gil([&] {
               return std::make_unique<LockedSession>(value_or_raise(OpenSession::open(place)));
             });
           }),
           py::arg("place"))
      .def("close",
           [](LockedSession& session) { session.use([](OpenSession& open) { open.close(); }); })
      .def("info", method(&OpenSession::info))
      .def("number", method(&OpenSession::number))
      .def("steps", method(&OpenSession::steps))
      .def("step", method(&OpenSession::step), py::arg("step"))
      .def("explain", method(&OpenSession::explain), py::arg("step"))
      .def("query", &query, py::arg("sql"))
      .def("query_rows", &query_rows, py::arg("sql"));
  module.def(
      "list_sessions",
      [](const std::string& file) {
        return to_python(without_gil([&] { return value_or_raise(list_sessions(file)); }));
      },
      py::arg("file"));
}

}  // namespace hybridscope
