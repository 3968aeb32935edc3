#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "integrations/python/src/bindings.h"
#include "integrations/python/src/judge_feed.h"
#include "integrations/python/src/line_thread.h"
#include "integrations/python/src/python_values.h"
#include "sessions/job/run_options.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

using LockedJudge = Locked<JudgeFeed>;

JudgeOptions judge_options_of(const Given& given) {
  JudgeOptions options;
  options.input = given.get<std::string>("input");
  options.check = given.check();
  options.filter = given.get<std::string>("filter");
  options.files = given.files();
  if (const auto engine = given.get<std::string>("engine"); !engine.empty())
    options.engine = value_or_raise(engine_profile_called(engine));
  raise_if_failed(check_given_files(files_of(options)));
  return options;
}

std::unique_ptr<LockedJudge> make_judge(const py::dict& options) {
  return std::make_unique<LockedJudge>(
      std::make_unique<JudgeFeed>(judge_options_of(Given(options))));
}

// str as UTF-8 or bytes, without a copy.
std::string_view text_of(const py::handle& line) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyUnicode_Check(line.ptr())) {
    const char* text = PyUnicode_AsUTF8AndSize(line.ptr(), &size);
    if (text == nullptr) throw py::error_already_set();
    return {text, static_cast<std::size_t>(size)};
  }
  if (PyBytes_AsStringAndSize(line.ptr(), &data, &size) != 0) throw py::error_already_set();
  return {data, static_cast<std::size_t>(size)};
}

py::list feed(LockedJudge& judge, const py::object& line) {
  const std::string_view text = text_of(line);
  return to_python(judge.use([&](JudgeFeed& feed) { return value_or_raise(feed.feed(text)); }));
}

py::object judge_whole_file(const py::dict& options, py::object tell) {
  const JudgeOptions read = judge_options_of(Given(options));
  Teller teller(std::move(tell));
  return to_python(without_gil([&] { return value_or_raise(judge_file(read, teller)); }));
}

std::string explain_step_of_trace(const py::dict& options, std::int64_t step) {
  const JudgeOptions read = judge_options_of(Given(options));
  Teller teller(py::none{});
  return without_gil([&] { return value_or_raise(explain_trace(read, step, teller)); });
}

}  // namespace

void bind_judge(py::module_& module) {
  py::class_<LockedJudge>(module, "Judge")
      .def(py::init(&make_judge), py::arg("options"))
      .def("feed", &feed, py::arg("line"))
      .def("explain", method(&JudgeFeed::explain))
      .def("findings", method(&JudgeFeed::findings))
      .def("report", method(&JudgeFeed::report))
      .def("notes", method(&JudgeFeed::notes))
      .def_property_readonly("line", method(&JudgeFeed::line))
      .def_property_readonly("step", method(&JudgeFeed::step))
      .def_property_readonly("num_steps", method(&JudgeFeed::num_steps))
      .def_property_readonly("num_request_steps", method(&JudgeFeed::num_request_steps));
  module.def("judge_file", &judge_whole_file, py::arg("options"), py::arg("tell"));
  module.def("explain_trace", &explain_step_of_trace, py::arg("options"), py::arg("step"));
}

}  // namespace hybridscope
