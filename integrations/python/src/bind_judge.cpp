#include <pybind11/stl.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/check/step_checker.h"
#include "integrations/python/src/bindings.h"
#include "integrations/python/src/locked_judge.h"
#include "integrations/python/src/raise.h"
#include "integrations/python/src/to_python.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

CheckScope parse_check(const std::string& name) {
  if (const auto scope = check_scope_of(name)) return *scope;
  raise(invalid_input("check is step or all, not \"" + name + "\""));
}

std::unique_ptr<LockedJudge> make_judge(const std::string& name, const std::string& check) {
  JudgeOptions options;
  options.input = name;
  options.check = parse_check(check);
  return std::make_unique<LockedJudge>(std::move(options));
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
  const auto found =
      judge.with_feed([&](JudgeFeed& feed) { return value_or_raise(feed.feed(text)); });
  py::list list;
  for (const auto& finding : found) list.append(to_python(finding));
  return list;
}

py::object number(LockedJudge& judge, std::int64_t (JudgeFeed::*get)()) {
  return py::int_(judge.with_feed([&](JudgeFeed& feed) { return (feed.*get)(); }));
}

}  // namespace

void bind_judge(py::module_& module) {
  py::class_<LockedJudge>(module, "Judge")
      .def(py::init(&make_judge), py::arg("name"), py::arg("check"))
      .def("feed", &feed, py::arg("line"))
      .def("explain",
           [](LockedJudge& judge) {
             return judge.with_feed(
                 [](const JudgeFeed& feed) { return value_or_raise(feed.explain()); });
           })
      .def("findings",
           [](LockedJudge& judge) {
             py::list list;
             for (const auto& finding :
                  judge.with_feed([](JudgeFeed& feed) { return feed.findings(); }))
               list.append(to_python(finding));
             return list;
           })
      .def("report",
           [](LockedJudge& judge) {
             return to_python(judge.with_feed([](JudgeFeed& feed) { return feed.report(); }));
           })
      .def("notes",
           [](LockedJudge& judge) {
             return judge.with_feed([](const JudgeFeed& feed) { return feed.notes(); });
           })
      .def_property_readonly(
          "line",
          [](LockedJudge& judge) {
            return judge.with_feed([](const JudgeFeed& feed) { return feed.line(); });
          })
      .def_property_readonly(
          "step",
          [](LockedJudge& judge) {
            return judge.with_feed([](const JudgeFeed& feed) { return feed.step(); });
          })
      .def_property_readonly(
          "num_steps", [](LockedJudge& judge) { return number(judge, &JudgeFeed::num_steps); })
      .def_property_readonly("num_request_steps", [](LockedJudge& judge) {
        return number(judge, &JudgeFeed::num_request_steps);
      });
}

}  // namespace hybridscope
