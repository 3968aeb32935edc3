#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "integrations/python/src/python_values.h"
#include "sessions/record/step_record.h"
#include "sessions/text/json_value.h"
#include "sessions/text/number_words.h"
#include "storage/session_file.h"

namespace hybridscope {

namespace py = pybind11;

py::object to_python(const nlohmann::ordered_json& json) {
  switch (json.type()) {
    case nlohmann::ordered_json::value_t::object: {
      py::dict dict;
      for (const auto& [key, value] : json.items()) dict[py::str(key)] = to_python(value);
      return dict;
    }
    case nlohmann::ordered_json::value_t::array: {
      py::list list(json.size());
      for (std::size_t i = 0; i < json.size(); ++i) list[i] = to_python(json[i]);
      return list;
    }
    case nlohmann::ordered_json::value_t::string:
      return py::str(json.get_ref<const std::string&>());
    case nlohmann::ordered_json::value_t::boolean: return py::bool_(json.get<bool>());
    case nlohmann::ordered_json::value_t::number_integer: return py::int_(json.get<std::int64_t>());
    case nlohmann::ordered_json::value_t::number_unsigned:
      return py::int_(json.get<std::uint64_t>());
    case nlohmann::ordered_json::value_t::number_float: return py::float_(json.get<double>());
    default: return py::none();
  }
}

py::list to_python(const std::vector<nlohmann::ordered_json>& values) {
  py::list list(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) list[i] = to_python(values[i]);
  return list;
}

namespace {

// An Error on its way to Python.
struct Raised : std::exception {
  explicit Raised(Error given) : error(std::move(given)) {}
  const char* what() const noexcept override { return error.message.c_str(); }
  Error error;
};

const char* exception_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_input: return "InvalidInput";
    case ErrorKind::not_found: return "NotFound";
    case ErrorKind::corrupt: return "Corrupt";
    case ErrorKind::io: return "InputOutput";
    case ErrorKind::device: return "Device";
    case ErrorKind::not_available: return "NotAvailable";
  }
  return "Error";
}

// The classes are Python's, so that they are pickled by name.
void set_exception(const char* name, const std::string& message) {
  const py::object errors = py::module_::import("hybridscope.errors");
  PyErr_SetObject(py::object(errors.attr(name)).ptr(), py::str(message).ptr());
}

}  // namespace

void raise(const Error& error) { throw Raised(error); }

void register_exceptions() {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Raised& raised) {
      set_exception(exception_name(raised.error.kind), raised.error.message);
    } catch (const ContractViolation& violation) {
      set_exception("Bug", violation.what());
    }
  });
}

namespace {

// `least` and the result are in millionths; empty: it was not given.
std::optional<std::int64_t> millionths_of(const Given& given, const char* key, std::int64_t least,
                                          std::int64_t most) {
  const auto text = given.get<std::string>(key);
  if (text.empty()) return std::nullopt;
  const auto value = parse_millionths(text);
  if (!value || *value < least || *value > most)
    raise(invalid_input(std::string(key) + " is " + text + ", not a number from " +
                        format_millionths(least) + " to " + format_millionths(most)));
  return value;
}

}  // namespace

CheckScope Given::check() const {
  const auto name = get<std::string>("check", "step");
  if (const auto scope = check_scope_of(name)) return *scope;
  raise(invalid_input(fmt::format("check {} (expected step or all)", quoted_text(name))));
}

StepFileOptions Given::files() const {
  const auto name = get<std::string>("level", "blocks");
  const auto level = record_level_of(name);
  if (!level)
    raise(invalid_input(
        fmt::format("level {} (expected counts, blocks or full)", quoted_text(name))));
  RecordOption record{.place = get<std::string>("record"), .level = *level};
  if (!record.place.empty() && parse_session_place(record.place).file.empty())
    raise(invalid_input(fmt::format("record {} names no file", quoted_text(record.place))));
  return {.record = std::move(record)};
}

Status check_given_files(CommandFiles files) {
  for (OutputTarget& output : files.outputs)
    output.option.remove_prefix(
        std::min(output.option.find_first_not_of('-'), output.option.size()));
  return check_files(files);
}

TrafficOptions Given::traffic() const {
  TrafficOptions options;
  options.format = get<std::string>("traffic_format");
  options.load.users = get<std::int64_t>("users");
  options.load.think_us = millionths_of(*this, "think_time", 0, kMaxThinkUs);
  options.load.rate = millionths_of(*this, "request_rate", 1, kMaxTrafficRate).value_or(0);
  return options;
}

}  // namespace hybridscope
