#include "integrations/python/src/text_buffer.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <stdexcept>

namespace hybridscope {
namespace {

template <std::floating_point Number>
void append_real(const char* bytes, TextBuffer& line) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  line.add(nlohmann::json(number).dump());
}

template <std::integral Number>
void append_whole(const char* bytes, TextBuffer& line) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  line.add_number(number);
}

void append_bool(const char* bytes, TextBuffer& line) { line.add(*bytes != 0 ? "true" : "false"); }

using AppendElement = void (*)(const char* bytes, TextBuffer& line);

AppendElement appender_of(char kind, std::size_t size) {
  if (kind == '?') return &append_bool;
  if (kind == 'f') return &append_real<float>;
  if (kind == 'd') return &append_real<double>;
  if (std::string_view("bhilq").find(kind) != std::string_view::npos) switch (size) {
      case 1: return &append_whole<std::int8_t>;
      case 2: return &append_whole<std::int16_t>;
      case 4: return &append_whole<std::int32_t>;
      case 8: return &append_whole<std::int64_t>;
    }
  if (std::string_view("BHILQ").find(kind) != std::string_view::npos) switch (size) {
      case 1: return &append_whole<std::uint8_t>;
      case 2: return &append_whole<std::uint16_t>;
      case 4: return &append_whole<std::uint32_t>;
      case 8: return &append_whole<std::uint64_t>;
    }
  return nullptr;
}

// `shape`: of the dimensions that are left; `next`: their first element, moved behind the last.
void append_dimensions(std::span<const std::size_t> shape, const ElementType& type,
                       const char*& next, TextBuffer& line) {
  if (shape.empty()) {
    type.append(next, line);
    next += type.size;
    return;
  }
  line.add('[');
  for (std::size_t i = 0; i < shape.front(); ++i) {
    if (i > 0) line.add(',');
    append_dimensions(shape.subspan(1), type, next, line);
  }
  line.add(']');
}

}  // namespace

ElementType ElementType::of(std::string_view format, std::size_t size) {
  if (format.empty()) format = "B";
  if (std::string_view("@=<").find(format.front()) != std::string_view::npos)
    format.remove_prefix(1);  // as this machine has it
  if (format.size() != 1) return {.size = size};
  return {.format = format[0], .size = size, .append = appender_of(format[0], size)};
}

std::size_t KeptArray::num_elements() const {
  return std::accumulate(shape.begin(), shape.begin() + num_dimensions, std::size_t{1},
                         std::multiplies<>());
}

const char* KeptArray::elements(std::string_view host_bytes) const {
  if (batch == nullptr) return host_bytes.data() + begin;
  if (batch->copied == nullptr) throw std::runtime_error("an array of the device was not launched");
  if (const Status copied = batch->copied->wait(); !copied)
    throw std::runtime_error(copied.error().message);
  return reinterpret_cast<const char*>(batch->copied->bytes().data()) + begin;
}

void KeptArray::append_to(TextBuffer& line, std::string_view host_bytes) const {
  const std::span lengths = std::span(shape).first(num_dimensions);
  if (tells_empty_shape && num_dimensions == 2 && num_elements() == 0)
    return line.add(fmt::format(R"({{"shape":[{},{}],"data":[]}})", shape[0], shape[1]));
  const char* const first = elements(host_bytes);
  const char* next = first;
  if (!has_rows) return append_dimensions(lengths, type, next, line);
  const std::size_t row_size = shape[0] == 0 ? 0 : num_elements() / shape[0] * type.size;
  line.add('[');
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows[i]);
    if (rows[i] < 0 || row >= shape[0])
      throw std::runtime_error(fmt::format("an array of {} rows has no row {}", shape[0], rows[i]));
    if (i > 0) line.add(',');
    next = first + row * row_size;
    append_dimensions(lengths.subspan(1), type, next, line);
  }
  line.add(']');
}

namespace {

namespace py = pybind11;

// Calls use(object) for each key and value of a dict, or each item of a list or tuple, while it
// returns true. False: a call did not.
template <class Use>
bool for_all_items(py::handle container, Use use) {
  if (PyDict_Check(container.ptr())) {
    PyObject* key = nullptr;
    PyObject* item = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(container.ptr(), &position, &key, &item) != 0)
      if (!use(key) || !use(item)) return false;
    return true;
  }
  PyObject* const* const items = PySequence_Fast_ITEMS(container.ptr());
  return std::all_of(items, items + PySequence_Fast_GET_SIZE(container.ptr()), use);
}

std::size_t num_objects(py::handle container) {
  return static_cast<std::size_t>(PyDict_Check(container.ptr())
                                      ? 2 * PyDict_Size(container.ptr())
                                      : PySequence_Fast_GET_SIZE(container.ptr()));
}

}  // namespace

RepeatedTexts::~RepeatedTexts() {
  for (auto& [place, kept] : places_) forget(kept);
}

void RepeatedTexts::forget(Kept& kept) {
  for (PyObject* const item : std::exchange(kept.items, {})) Py_DECREF(item);
}

std::shared_ptr<const std::string> RepeatedTexts::find(std::size_t place, py::handle container) {
  const auto found = places_.find(place);
  if (found == places_.end()) return nullptr;
  Kept& kept = found->second;
  auto next = kept.items.begin();
  if (kept.items.size() == num_objects(container) &&
      for_all_items(container, [&](PyObject* item) { return item == *next++; })) {
    kept.misses = 0;
    return kept.text;
  }
  ++kept.misses;
  return nullptr;
}

void RepeatedTexts::keep(std::size_t place, py::handle container, std::string_view text) {
  if (places_.size() >= kMaxPlaces && !places_.contains(place)) return;
  Kept& kept = places_[place];
  forget(kept);
  if (kept.misses > kMaxMisses && kept.misses % kRetry != 0) return;
  kept.items.reserve(num_objects(container));
  for_all_items(container, [&](PyObject* item) {
    Py_INCREF(item);
    kept.items.push_back(item);
    return true;
  });
  kept.text = std::make_shared<const std::string>(text);
}

}  // namespace hybridscope
