#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "integrations/python/src/bindings.h"
#include "integrations/python/src/given.h"
#include "integrations/python/src/locked.h"
#include "integrations/python/src/plan_book.h"
#include "integrations/python/src/raise.h"
#include "integrations/python/src/to_python.h"

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
      .def("missing",
           [](LockedPlan& plan) { return plan.use([](PlanBook& book) { return book.missing(); }); })
      .def(
          "add",
          [](LockedPlan& plan, const std::string& line) {
            plan.use([&](PlanBook& book) { raise_if_failed(book.add(line)); });
          },
          py::arg("line"))
      .def("report",
           [](LockedPlan& plan) {
             return to_python(plan.use([](PlanBook& book) { return book.report(); }));
           })
      .def("text",
           [](LockedPlan& plan) { return plan.use([](PlanBook& book) { return book.text(); }); });
  module.def("run_plan_case", &run_here, py::arg("options"), py::arg("name"));
}

}  // namespace hybridscope
