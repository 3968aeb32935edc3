#include "integrations/python/src/record_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace hybridscope {
namespace {

namespace py = pybind11;

// The sizes that records of a batch of some hundred requests have.
constexpr std::size_t kUsualSize = std::size_t{96} << 10U;
constexpr std::size_t kUsualPartSize = 4096;
constexpr std::size_t kUsualPieces = 4;

bool needs_escapes(std::string_view text) {
  bool needs = false;  // without a branch in the loop, so that it is done for many at once
  for (const char character : text)
    needs |= static_cast<unsigned char>(character) < 0x20 || character == '"' || character == '\\';
  return needs;
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

// A buffer of Python, until the end of its scope.
class Buffer {
 public:
  explicit Buffer(py::handle value) {
    is_there_ = PyObject_CheckBuffer(value.ptr()) != 0 && !is_text(value) &&
                PyObject_GetBuffer(value.ptr(), &view_, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) == 0;
    if (!is_there_) PyErr_Clear();  // strided, or of a type without a format
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (is_there_) PyBuffer_Release(&view_);
  }
  bool is_there() const { return is_there_; }
  const Py_buffer& view() const { return view_; }
  // Are the elements whole numbers of 32 or 64 bits with a sign?
  bool has_whole_numbers() const {
    return std::string_view("ilq").find(type().format) != std::string_view::npos;
  }
  // Requires: has_whole_numbers().
  std::vector<std::int64_t> whole_numbers() const {
    return view_.itemsize == sizeof(std::int32_t) ? numbers_of<std::int32_t>()
                                                  : numbers_of<std::int64_t>();
  }
  ElementType type() const {
    return ElementType::of(view_.format == nullptr ? "" : view_.format,
                           static_cast<std::size_t>(view_.itemsize));
  }

 private:
  // Bytes are no numbers.
  static bool is_text(py::handle value) {
    return PyBytes_Check(value.ptr()) != 0 || PyByteArray_Check(value.ptr()) != 0;
  }

  template <class Number>
  std::vector<std::int64_t> numbers_of() const {
    const auto* const first = static_cast<const Number*>(view_.buf);
    return {first, first + view_.len / static_cast<Py_ssize_t>(sizeof(Number))};
  }

  Py_buffer view_{};
  bool is_there_ = false;
};

}  // namespace

RecordText::RecordText(const py::handle& record) : text_(kUsualSize) { add(record); }

RecordText::RecordText(Tensors& tensors) : text_(kUsualPartSize), tensors_(&tensors) {
  pieces_.reserve(kUsualPieces);
}

void RecordText::take(const py::handle& record) {
  clear();
  add(record);
}

void RecordText::clear() {
  text_.clear();
  bytes_.clear();
  pieces_.clear();
}

void RecordText::take_part(const py::str& name, const py::handle& value, RepeatedTexts& repeated) {
  repeated_ = &repeated;
  place_ = place_in(place_, name.ptr());
  add_member(value);
  repeated_ = nullptr;
}

void RecordText::take_value(const py::handle& value) { add(value); }

void RecordText::take_fields(const py::dict& fields, const py::dict& made) {
  tells_empty_shape_ = true;
  text_.add('{');
  for (const auto& [name, value] : fields) {
    PyObject* const given = PyDict_GetItem(made.ptr(), name.ptr());
    const std::size_t begin = text_.size();
    if (begin > 1) text_.add(',');
    add_text(name);
    text_.add(':');
    if (!add_if_known(given == nullptr ? value : py::handle(given))) text_.cut(begin);
  }
  text_.add('}');
}

void RecordText::take_rows(const py::handle& array, const py::handle& rows) {
  add(array);
  const Buffer buffer(rows);
  if (single_array() == nullptr || !buffer.is_there() || buffer.view().ndim != 1 ||
      !buffer.has_whole_numbers())
    throw py::value_error("rows of an array: no array, or no rows");
  auto& kept = std::get<KeptArray>(pieces_.front().value);
  kept.has_rows = true;
  kept.rows = buffer.whole_numbers();
}

void RecordText::add(py::handle value) {
  if (!add_if_known(value)) text_.add("null");
}

bool RecordText::add_if_known(py::handle value) {
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
    return add_container(value);
  }
  return true;
}

bool RecordText::add_container(py::handle value) {
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
    return add_object(value);
  }
  return true;
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
  if (auto text = repeated_->find(place_, item)) {
    only_leaves_ = false;
    pieces_.push_back({text_.size(), std::move(text)});
    return;
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
  for (Piece piece : part.pieces_) {
    text_.add(text.substr(done, piece.at - done));
    done = std::exchange(piece.at, text_.size());
    if (auto* const array = std::get_if<KeptArray>(&piece.value); array && array->batch == nullptr)
      array->begin += bytes_.size();
    pieces_.push_back(std::move(piece));
  }
  text_.add(text.substr(done));
  bytes_.add(part.bytes_.view());
}

bool RecordText::add_object(py::handle value) {
  if (py::isinstance<RecordText>(value)) {
    add_part(value.cast<const RecordText&>());
    return true;
  }
  if (tensors_ != nullptr && tensors_->is_tensor(value)) return add_tensor(value);
  if (add_array(value)) return true;
  for (const char* const name : {"host_array", "tolist"})
    if (py::hasattr(value, name)) {
      add(py::object(value.attr(name)()));
      return true;
    }
  if (tensors_ == nullptr) throw py::attribute_error("no JSON, no array and no tolist()");
  return false;
}

bool RecordText::add_tensor(py::handle tensor) {
  if (!tensors_->is_on_device(tensor)) {
    if (!tensors_->takes(tensor)) return false;
    const py::object host = tensor.attr("detach")().attr("contiguous")().attr("numpy")();
    return add_array(host) || add_if_known(host.attr("tolist")());
  }
  std::optional<KeptArray> array = tensors_->keep(tensor);
  if (!array) return false;
  add_kept(std::move(*array));
  return true;
}

bool RecordText::add_array(py::handle value) {
  const Buffer buffer(value);
  if (!buffer.is_there()) return false;
  const Py_buffer& view = buffer.view();
  const auto num_dimensions = static_cast<std::size_t>(view.ndim);
  KeptArray array{.type = buffer.type(), .begin = bytes_.size(), .num_dimensions = num_dimensions};
  if (view.ndim == 0 || num_dimensions > KeptArray::kMaxDimensions) return false;
  std::copy_n(view.shape, view.ndim, array.shape.begin());
  if (array.type.append == nullptr && array.num_elements() > 0) return false;
  bytes_.add({static_cast<const char*>(view.buf), static_cast<std::size_t>(view.len)});
  add_kept(std::move(array));
  return true;
}

void RecordText::add_kept(KeptArray array) {
  array.tells_empty_shape = tells_empty_shape_;
  pieces_.push_back({text_.size(), std::move(array)});
}

const KeptArray* RecordText::single_array() const {
  const bool is_single = pieces_.size() == 1 && text_.size() == 0;
  return is_single ? std::get_if<KeptArray>(&pieces_.front().value) : nullptr;
}

std::string RecordText::line() const {
  const std::string_view text = text_.view();
  TextBuffer line(text.size() + kUsualSize);
  std::size_t done = 0;
  for (const Piece& piece : pieces_) {
    line.add(text.substr(done, piece.at - done));
    done = piece.at;
    if (const auto* const array = std::get_if<KeptArray>(&piece.value))
      array->append_to(line, bytes_.view());
    else
      line.add(*std::get<1>(piece.value));
  }
  line.add(text.substr(done));
  line.add('\n');
  return std::string(line.view());
}

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
