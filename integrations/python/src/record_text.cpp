#include "integrations/python/src/record_text.h"

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

namespace hybridscope {
namespace {

namespace py = pybind11;

bool needs_escapes(std::string_view text) {
  for (const char character : text)
    if (static_cast<unsigned char>(character) < 0x20 || character == '"' || character == '\\')
      return true;
  return false;
}

template <std::floating_point Number>
void append_real(const char* bytes, std::string& line) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  line += nlohmann::json(number).dump();
}

template <class Number>
void append_element(const char* bytes, std::string& line) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  fmt::format_to(std::back_inserter(line), "{}", number);
}

using AppendElement = void (*)(const char* bytes, std::string& line);

// How an element with this format and size is written; null: not known.
AppendElement appender_of(std::string_view format, std::size_t size) {
  const char kind = format.empty() ? 'B' : format.back();
  if (kind == '?') return &append_element<bool>;
  if (kind == 'f') return &append_real<float>;
  if (kind == 'd') return &append_real<double>;
  if (std::string_view("bhilq").find(kind) != std::string_view::npos) switch (size) {
      case 1:
        return [](const char* bytes, std::string& line) {
          fmt::format_to(std::back_inserter(line), "{}", int{static_cast<signed char>(*bytes)});
        };
      case 2:
        return &append_element<std::int16_t>;
      case 4:
        return &append_element<std::int32_t>;
      case 8:
        return &append_element<std::int64_t>;
    }
  if (std::string_view("BHILQ").find(kind) != std::string_view::npos) switch (size) {
      case 1:
        return [](const char* bytes, std::string& line) {
          fmt::format_to(std::back_inserter(line), "{}", static_cast<unsigned char>(*bytes));
        };
      case 2:
        return &append_element<std::uint16_t>;
      case 4:
        return &append_element<std::uint32_t>;
      case 8:
        return &append_element<std::uint64_t>;
    }
  return nullptr;
}

}  // namespace

RecordText::RecordText(const py::handle& record) { add(record); }

void RecordText::add(py::handle value) {
  PyObject* const object = value.ptr();
  if (object == Py_None) {
    text_ += "null";
  } else if (PyBool_Check(object)) {
    text_ += object == Py_True ? "true" : "false";
  } else if (PyLong_Check(object)) {
    const long long number = PyLong_AsLongLong(object);
    if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    fmt::format_to(std::back_inserter(text_), "{}", number);
  } else if (PyUnicode_Check(object)) {
    add_text(value);
  } else if (PyFloat_Check(object)) {
    text_ += nlohmann::json(PyFloat_AS_DOUBLE(object)).dump();  // null: not a number
  } else if (PyDict_Check(object)) {
    add_dict(value);
  } else if (PyList_Check(object) || PyTuple_Check(object)) {
    add_items(value);
  } else if (PyAnySet_Check(object)) {
    const auto items = py::reinterpret_steal<py::list>(PySequence_List(object));
    if (!items || PyList_Sort(items.ptr()) != 0) throw py::error_already_set();
    add_items(items);
  } else {
    add_object(value);
  }
}

void RecordText::add_text(py::handle value) {
  Py_ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (data == nullptr) throw py::error_already_set();
  const std::string_view text(data, static_cast<std::size_t>(size));
  if (needs_escapes(text)) {
    text_ += nlohmann::json(text).dump();
  } else {
    text_ += '"';
    text_ += text;
    text_ += '"';
  }
}

void RecordText::add_dict(py::handle value) {
  PyObject* key = nullptr;
  PyObject* item = nullptr;
  Py_ssize_t position = 0;
  text_ += '{';
  for (bool first = true; PyDict_Next(value.ptr(), &position, &key, &item) != 0; first = false) {
    if (!first) text_ += ',';
    if (PyUnicode_Check(key))
      add_text(key);
    else
      add_text(py::str(py::handle(key)));
    text_ += ':';
    add(item);
  }
  text_ += '}';
}

void RecordText::add_items(py::handle sequence) {
  PyObject* const object = sequence.ptr();
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(object);
  text_ += '[';
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (i > 0) text_ += ',';
    add(PySequence_Fast_GET_ITEM(object, i));
  }
  text_ += ']';
}

void RecordText::add_object(py::handle value) {
  if (add_array(value)) return;
  if (py::hasattr(value, "host_array"))
    add(py::object(value.attr("host_array")()));
  else
    add(py::object(value.attr("tolist")()));
}

bool RecordText::add_array(py::handle value) {
  if (PyObject_CheckBuffer(value.ptr()) == 0) return false;
  Py_buffer view;
  if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();  // strided, or of a type without a format
    return false;
  }
  Array array{.at = text_.size(),
              .format = view.format == nullptr ? "" : view.format,
              .element_size = static_cast<std::size_t>(view.itemsize)};
  const bool known = view.ndim > 0 && appender_of(array.format, array.element_size) != nullptr;
  if (known) {
    for (int i = 0; i < view.ndim; ++i)
      array.shape.push_back(static_cast<std::size_t>(view.shape[i]));
    array.bytes.assign(static_cast<const char*>(view.buf), static_cast<std::size_t>(view.len));
    arrays_.push_back(std::move(array));
  }
  PyBuffer_Release(&view);
  return known;
}

void RecordText::append(const Array& array, std::size_t dimension, std::size_t& next,
                        std::string& line) {
  if (dimension == array.shape.size()) {
    appender_of(array.format, array.element_size)(array.bytes.data() + next, line);
    next += array.element_size;
    return;
  }
  line += '[';
  for (std::size_t i = 0; i < array.shape[dimension]; ++i) {
    if (i > 0) line += ',';
    append(array, dimension + 1, next, line);
  }
  line += ']';
}

std::string RecordText::line() const {
  std::string line;
  std::size_t done = 0;
  for (const Array& array : arrays_) {
    line.append(text_, done, array.at - done);
    done = array.at;
    std::size_t next = 0;
    append(array, 0, next, line);
  }
  line.append(text_, done);
  line += '\n';
  return line;
}

}  // namespace hybridscope
