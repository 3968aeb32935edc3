#include "integrations/python/src/step_values.h"

namespace hybridscope {

namespace py = pybind11;

RecordText StepValues::part(const py::str& name, const py::handle& value) {
  RecordText part(tensors_);
  part.take_part(name, value, repeated_);
  return part;
}

RecordText StepValues::snapshot(const py::handle& value) {
  RecordText part(tensors_);
  part.take_value(value);
  return part;
}

RecordText StepValues::rows(const py::handle& array, const py::handle& rows) {
  RecordText part(tensors_);
  part.take_rows(array, rows);
  return part;
}

RecordText StepValues::fields(const py::dict& fields, const py::dict& made) {
  RecordText part(tensors_);
  part.take_fields(fields, made);
  return part;
}

}  // namespace hybridscope
