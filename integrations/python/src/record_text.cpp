#include "integrations/python/src/record_text.h"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace hybridscope {
namespace {

namespace py = pybind11;

// Of the records of a batch of some hundred requests.
constexpr std::size_t kUsualSize = std::size_t{96} << 10U;
constexpr std::size_t kUsualPartSize = std::size_t{16} << 10U;
constexpr std::size_t kUsualFieldsSize = 2048;

bool needs_escapes(std::string_view text) {
  bool needs = false;  // without a branch in the loop, so that it is done for many at once
  for (const char character : text)
    needs |= static_cast<unsigned char>(character) < 0x20 || character == '"' || character == '\\';
  return needs;
}

template <std::floating_point Number>
void append_real(const char* bytes, TextBuffer& line) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  line.add(nlohmann::json(number).dump());
}

template <std::integral Number>
void append_element(const char* bytes, TextBuffer& line) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  line.add_number(number);
}

void append_bool(const char* bytes, TextBuffer& line) { line.add(*bytes != 0 ? "true" : "false"); }

using AppendElement = void (*)(const char* bytes, TextBuffer& line);

// How an element with this format and size is written; null: not known.
AppendElement appender_of(std::string_view format, std::size_t size) {
  const char kind = format.empty() ? 'B' : format.back();
  if (kind == '?') return &append_bool;
  if (kind == 'f') return &append_real<float>;
  if (kind == 'd') return &append_real<double>;
  if (std::string_view("bhilq").find(kind) != std::string_view::npos) switch (size) {
      case 1:
        return &append_element<std::int8_t>;
      case 2:
        return &append_element<std::int16_t>;
      case 4:
        return &append_element<std::int32_t>;
      case 8:
        return &append_element<std::int64_t>;
    }
  if (std::string_view("BHILQ").find(kind) != std::string_view::npos) switch (size) {
      case 1:
        return &append_element<std::uint8_t>;
      case 2:
        return &append_element<std::uint16_t>;
      case 4:
        return &append_element<std::uint32_t>;
      case 8:
        return &append_element<std::uint64_t>;
    }
  return nullptr;
}

// Text, a number or None.
bool is_leaf(py::handle value) {
  PyObject* const object = value.ptr();
  return object == Py_None || PyLong_Check(object) || PyUnicode_Check(object) ||
         PyFloat_Check(object);
}

bool may_be_repeated(py::handle value) {
  PyObject* const object = value.ptr();
  if (PyDict_Check(object))
    return static_cast<std::size_t>(PyDict_Size(object)) >= RepeatedTexts::kMinItems;
  return (PyList_Check(object) || PyTuple_Check(object)) &&
         static_cast<std::size_t>(PySequence_Fast_GET_SIZE(object)) >= RepeatedTexts::kMinItems;
}

std::size_t place_in(std::size_t outer, PyObject* key) {
  return outer * 1'000'003 ^ reinterpret_cast<std::uintptr_t>(key);
}

}  // namespace

RecordText::RecordText(const py::handle& record) : text_(kUsualSize) { add(record); }

void RecordText::take(const py::handle& record) {
  text_.clear();
  bytes_.clear();
  arrays_.clear();
  add(record);
}

RecordText RecordText::part(const py::str& name, const py::handle& value, RepeatedTexts& repeated) {
  RecordText part(kUsualPartSize);
  part.repeated_ = &repeated;
  part.place_ = place_in(part.place_, name.ptr());
  part.add_member(value);
  part.repeated_ = nullptr;
  return part;
}

RecordText RecordText::part_of_fields(const py::dict& fields, const py::function& member) {
  RecordText part(kUsualFieldsSize);
  bool first = true;
  part.text_.add('{');
  for (const auto& [name, value] : fields) {
    py::object made;
    if (!is_leaf(value) && (made = member(name, value)).is_none()) continue;
    if (!first) part.text_.add(',');
    first = false;
    part.add_text(name);
    part.text_.add(':');
    part.add(made ? py::handle(made) : value);
  }
  part.text_.add('}');
  return part;
}

void RecordText::add(py::handle value) {
  PyObject* const object = value.ptr();
  if (object == Py_None) {
    text_.add("null");
  } else if (PyUnicode_Check(object)) {
    add_text(value);
  } else if (PyBool_Check(object)) {
    text_.add(object == Py_True ? "true" : "false");
  } else if (PyLong_Check(object)) {
    const long long number = PyLong_AsLongLong(object);
    if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    text_.add_number(number);
  } else if (PyFloat_Check(object)) {
    text_.add(nlohmann::json(PyFloat_AS_DOUBLE(object)).dump());  // null: not a number
  } else {
    only_leaves_ = false;
    add_container(value);
  }
}

void RecordText::add_container(py::handle value) {
  PyObject* const object = value.ptr();
  if (PyDict_Check(object)) {
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
    text_.add(nlohmann::json(text).dump());
  } else {
    text_.add('"');
    text_.add(text);
    text_.add('"');
  }
}

void RecordText::add_dict(py::handle value) {
  PyObject* key = nullptr;
  PyObject* item = nullptr;
  Py_ssize_t position = 0;
  text_.add('{');
  for (bool first = true; PyDict_Next(value.ptr(), &position, &key, &item) != 0; first = false) {
    if (!first) text_.add(',');
    if (PyUnicode_Check(key))
      add_text(key);
    else
      add_text(py::str(py::handle(key)));
    text_.add(':');
    const std::size_t outer = place_;
    if (outer != 0) place_ = place_in(outer, key);
    add_member(item);
    place_ = outer;
  }
  text_.add('}');
}

void RecordText::add_member(py::handle item) {
  if (repeated_ == nullptr || place_ == 0 || !may_be_repeated(item)) return add(item);
  if (const std::string* const text = repeated_->find(place_, item)) {
    only_leaves_ = false;
    return text_.add(*text);
  }
  const std::size_t begin = text_.size();
  only_leaves_ = true;
  add_container(item);
  if (only_leaves_) repeated_->keep(place_, item, text_.view().substr(begin));
  only_leaves_ = false;
}

void RecordText::add_items(py::handle sequence) {
  PyObject* const object = sequence.ptr();
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(object);
  const std::size_t outer = std::exchange(place_, 0);
  text_.add('[');
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (i > 0) text_.add(',');
    add(PySequence_Fast_GET_ITEM(object, i));
  }
  text_.add(']');
  place_ = outer;
}

void RecordText::add_part(const RecordText& part) {
  const std::string_view text = part.text_.view();
  std::size_t done = 0;
  for (const Later& later : part.later_) {
    text_.add(text.substr(done, later.at - done));
    done = later.at;
    add_object(later.value);
  }
  text_.add(text.substr(done));
}

void RecordText::add_object(py::handle value) {
  if (is_part_) {
    later_.push_back({text_.size(), py::reinterpret_borrow<py::object>(value)});
    return;
  }
  if (py::isinstance<RecordText>(value)) return add_part(value.cast<const RecordText&>());
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
  const auto element_size = static_cast<std::size_t>(view.itemsize);
  Array array{.at = text_.size(),
              .append = appender_of(view.format == nullptr ? "" : view.format, element_size),
              .element_size = element_size,
              .begin = bytes_.size(),
              .num_dimensions = static_cast<std::size_t>(view.ndim)};
  const bool known =
      view.ndim > 0 && array.num_dimensions <= kMaxDimensions && array.append != nullptr;
  if (known) {
    std::copy_n(view.shape, view.ndim, array.shape.begin());
    bytes_.add({static_cast<const char*>(view.buf), static_cast<std::size_t>(view.len)});
    arrays_.push_back(array);
  }
  PyBuffer_Release(&view);
  return known;
}

void RecordText::append(const Array& array, std::size_t dimension, const char*& next,
                        TextBuffer& line) {
  if (dimension == array.num_dimensions) {
    array.append(next, line);
    next += array.element_size;
    return;
  }
  line.add('[');
  for (std::size_t i = 0; i < array.shape[dimension]; ++i) {
    if (i > 0) line.add(',');
    append(array, dimension + 1, next, line);
  }
  line.add(']');
}

std::string RecordText::line() const {
  const std::string_view text = text_.view();
  TextBuffer line(text.size() + kUsualSize);
  std::size_t done = 0;
  for (const Array& array : arrays_) {
    line.add(text.substr(done, array.at - done));
    done = array.at;
    const char* next = bytes_.view().data() + array.begin;
    append(array, 0, next, line);
  }
  line.add(text.substr(done));
  line.add('\n');
  return std::string(line.view());
}

}  // namespace hybridscope
