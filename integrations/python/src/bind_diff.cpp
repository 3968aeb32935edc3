#include <pybind11/stl.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "integrations/python/src/bindings.h"
#include "integrations/python/src/given.h"
#include "integrations/python/src/locked.h"
#include "integrations/python/src/raise.h"
#include "integrations/python/src/to_python.h"
#include "sessions/job/diff_comparison.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

DiffOptions diff_options_of(const Given& given) {
  DiffOptions options;
  options.sessions = given.get<std::vector<std::string>>("sessions");
  options.scenario = given.get<std::string>("scenario");
  options.settings_a = given.get<std::vector<std::string>>("settings_a");
  options.settings_b = given.get<std::vector<std::string>>("settings_b");
  options.ignore = given.get<std::vector<std::string>>("ignore");
  options.level = given.record().level;
  options.limit = given.get<std::int64_t>("limit", options.limit);
  options.all = given.get<bool>("all");
  options.first = given.get<bool>("first");
  options.requests = given.get<bool>("requests");
  return options;
}

struct Compared {
  nlohmann::ordered_json report;
  std::string text;
  bool differs = false;
};

py::tuple diff(const py::dict& options, py::object tell) {
  const DiffOptions read = diff_options_of(Given(options));
  Teller teller(std::move(tell));
  std::int64_t num_read = 0;
  const Compared compared = without_gil([&] {
    Compared found;
    const auto failure =
        compare_sides(read,
                      [&](const DiffReport& report) {
                        found = {diff_to_json(report), format_diff(report), report.differs()};
                      },
                      {.on_step = [&](std::int64_t) {
                        ++num_read;
                        teller.tell([&] { return Told{.what = "steps", .done = num_read}; });
                      }});
    if (failure) raise(failure->error);
    teller.call({.what = "steps", .done = num_read});
    return found;
  });
  return py::make_tuple(to_python(compared.report), compared.text, compared.differs);
}

}  // namespace

void bind_diff(py::module_& module) {
  module.def("diff", &diff, py::arg("options"), py::arg("tell"));
}

}  // namespace hybridscope
