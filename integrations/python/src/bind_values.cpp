#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "integrations/python/src/bindings.h"
#include "integrations/python/src/line_thread.h"
#include "integrations/python/src/python_values.h"
#include "integrations/python/src/record_text.h"
#include "kernels/cpu/state_copy_cpu.h"
#include "kernels/cuda/state_hash_cuda.h"
#include "sessions/job/diff_comparison.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

py::object plain(const RecordText& part) {
  const std::string line = without_gil([&] { return part.line(); });
  return to_python(nlohmann::ordered_json::parse(line));
}

py::object host_array(const RecordText& part) {
  const KeptArray* const array = part.single_array();
  if (array == nullptr || array->has_rows) throw py::type_error("the part is no array");
  const char* const elements = without_gil([&] { return array->elements(part.host_bytes()); });
  py::tuple shape(array->num_dimensions);
  for (std::size_t i = 0; i < array->num_dimensions; ++i) shape[i] = array->shape[i];
  return py::module_::import("numpy").attr("ndarray")(
      shape, std::string(1, array->type.format),
      py::bytes(elements, array->num_elements() * array->type.size));
}

}  // namespace

void bind_values(py::module_& module) {
  py::class_<ArrayCopies>(module, "ArrayCopies")
      .def(py::init<std::int32_t, py::function>(), py::arg("device"), py::arg("stream"));
  py::class_<RecordText>(module, "JsonPart").def("tolist", &plain).def("host_array", &host_array);
  py::class_<StepValues>(module, "StepValues")
      .def(py::init([](py::object tensor, const py::dict& types, py::object copies) {
             return std::make_unique<StepValues>(
                 Tensors(std::move(tensor), types, std::move(copies)));
           }),
           py::arg("tensor"), py::arg("types"), py::arg("copies"))
      .def("part", &StepValues::part, py::arg("name"), py::arg("value"))
      .def("snapshot", &StepValues::snapshot, py::arg("value"))
      .def("rows", &StepValues::rows, py::arg("array"), py::arg("rows"))
      .def("fields", &StepValues::fields, py::arg("fields"), py::arg("made"))
      .def("launch", &StepValues::launch);
  module.def(
      "record_text",
      [](const py::dict& record) {
        const RecordText text(record);
        return py::bytes(without_gil([&] { return text.line(); }));
      },
      py::arg("record"));
}

namespace {

// Arrays of a caller are addresses, as torch has them.
template <class T>
T* array_at(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

HashView view_of(const Given& given) {
  return {.data = array_at<const std::byte>(given.get<std::uintptr_t>("data")),
          .block_stride = given.get<std::int64_t>("block_stride"),
          .num_bytes = given.get<std::int64_t>("num_bytes"),
          .num_positions = given.get<std::int64_t>("num_positions"),
          .num_channels = given.get<std::int64_t>("num_channels"),
          .position_stride = given.get<std::int64_t>("position_stride"),
          .channel_stride = given.get<std::int64_t>("channel_stride"),
          .elem_size = given.get<std::int32_t>("elem_size"),
          .ordinal = given.get<std::int32_t>("ordinal")};
}

// Hashes in host memory, or on the device that holds the states. `blocks` is the address of
// int32 [count], `sums` that of uint64 [count, width], which are written; `stream` is a CUDA stream
// (host: ignored). On a device hash() returns when the work is queued: the caller keeps both arrays
// and the states until it is done. Raises InvalidInput, NotAvailable (built without CUDA, no
// device) and Device.
class StateHasher {
 public:
  StateHasher(const std::vector<py::dict>& views, std::int32_t num_blocks, bool on_device) {
    states_.num_blocks = num_blocks;
    for (const py::dict& view : views) states_.views.push_back(view_of(Given(view)));
    raise_if_failed(check_hashed(states_));
    if (on_device) on_device_.emplace(value_or_raise(StateHashCuda::create(states_)));
  }

  std::int64_t width() const { return num_sums(states_); }

  void hash(std::uintptr_t blocks, std::int64_t count, std::uintptr_t sums,
            std::uintptr_t stream) const {
    if (count < 0) raise(invalid_input("a negative count"));
    without_gil([&] {
      if (on_device_)
        return raise_if_failed(on_device_->hash(array_at<const std::int32_t>(blocks), count,
                                                array_at<std::uint64_t>(sums),
                                                array_at<CUstream_st>(stream)));
      const auto size = static_cast<std::size_t>(count);
      hash_states(states_, {array_at<const std::int32_t>(blocks), size},
                  {array_at<std::uint64_t>(sums), size * static_cast<std::size_t>(width())});
    });
  }

 private:
  HashedStates states_;
  std::optional<StateHashCuda> on_device_;
};

}  // namespace

void bind_hashes(py::module_& module) {
  py::class_<StateHasher>(module, "StateHasher")
      .def(py::init<const std::vector<py::dict>&, std::int32_t, bool>(), py::arg("views"),
           py::arg("num_blocks"), py::arg("on_device"))
      .def_property_readonly("width", &StateHasher::width)
      .def("hash", &StateHasher::hash, py::arg("blocks"), py::arg("count"), py::arg("sums"),
           py::arg("stream") = 0);
}

namespace {

DiffOptions diff_options_of(const Given& given) {
  DiffOptions options;
  options.sessions = given.get<std::vector<std::string>>("sessions");
  options.scenario = given.get<std::string>("scenario");
  options.settings_a = given.get<std::vector<std::string>>("settings_a");
  options.settings_b = given.get<std::vector<std::string>>("settings_b");
  options.ignore = given.get<std::vector<std::string>>("ignore");
  options.level = given.files().record.level;
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
