#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "integrations/python/src/bindings.h"
#include "integrations/python/src/locked.h"
#include "integrations/python/src/record_text.h"
#include "integrations/python/src/to_python.h"

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

}  // namespace hybridscope
