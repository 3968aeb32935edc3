#include "integrations/python/src/tensors.h"

#include <algorithm>
#include <string>

#include "integrations/python/src/python_values.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

// What a kernel copies at once.
constexpr std::size_t kAlignment = 16;

// Attributes of tensors, looked up many times a step.
struct Names {
  PyObject* dtype = PyUnicode_InternFromString("dtype");
  PyObject* shape = PyUnicode_InternFromString("shape");
  PyObject* is_cpu = PyUnicode_InternFromString("is_cpu");
  PyObject* is_contiguous = PyUnicode_InternFromString("is_contiguous");
  PyObject* contiguous = PyUnicode_InternFromString("contiguous");
  PyObject* data_ptr = PyUnicode_InternFromString("data_ptr");
};
const Names& names() {
  static const Names made;
  return made;
}

py::object checked(PyObject* made) {
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}
py::object attribute(py::handle object, PyObject* name) {
  return checked(PyObject_GetAttr(object.ptr(), name));
}
py::object call(py::handle object, PyObject* method) {
  return checked(PyObject_CallMethodNoArgs(object.ptr(), method));
}

// What an object of Python copied. wait() and the destructor take the GIL.
class CopiedByPython final : public CopiedArrays {
 public:
  explicit CopiedByPython(py::object copied) : copied_(std::move(copied)) {}
  CopiedByPython(const CopiedByPython&) = delete;
  CopiedByPython& operator=(const CopiedByPython&) = delete;
  ~CopiedByPython() override {
    const py::gil_scoped_acquire acquired;
    buffer_ = {};
    copied_ = {};
  }

  Status wait() const override {
    const py::gil_scoped_acquire acquired;
    try {
      if (buffer_.ptr == nullptr) buffer_ = py::buffer(copied_.attr("bytes")()).request();
    } catch (py::error_already_set& error) {
      return Error{ErrorKind::device, py::str(error.value())};
    }
    return Ok{};
  }
  std::span<const std::byte> bytes() const override {
    return {static_cast<const std::byte*>(buffer_.ptr), static_cast<std::size_t>(buffer_.size)};
  }

 private:
  py::object copied_;
  mutable py::buffer_info buffer_;
};

}  // namespace

ArrayCopies::ArrayCopies(std::int32_t device, py::function stream)
    : copies_(value_or_raise(ArrayCopiesCuda::create(device))), stream_(std::move(stream)) {}

std::shared_ptr<const CopiedArrays> ArrayCopies::launch(std::span<const ArrayCopy> arrays,
                                                        std::int64_t num_bytes) {
  const auto stream = stream_().cast<std::uintptr_t>();
  return value_or_raise(copies_.launch(arrays, num_bytes, reinterpret_cast<CUstream_st*>(stream)));
}

Tensors::Tensors(py::object tensor, const py::dict& types, py::object copies)
    : tensor_(std::move(tensor)), copies_of_(std::move(copies)) {
  for (const auto& [type, numpy] : types)
    types_.emplace_back(py::reinterpret_borrow<py::object>(type),
                        ElementType::of(numpy.attr("char").cast<std::string>(),
                                        numpy.attr("itemsize").cast<std::size_t>()));
}

bool Tensors::is_tensor(py::handle value) const {
  return !tensor_.is_none() &&
         PyObject_TypeCheck(value.ptr(), reinterpret_cast<PyTypeObject*>(tensor_.ptr())) != 0;
}

bool Tensors::is_on_device(py::handle tensor) const {
  return attribute(tensor, names().is_cpu).ptr() != Py_True;
}

std::optional<ElementType> Tensors::type_of(py::handle tensor) const {
  const py::object dtype = attribute(tensor, names().dtype);
  for (const auto& [type, element] : types_)
    if (type.is(dtype) && element.append != nullptr) return element;
  return std::nullopt;
}

std::optional<KeptArray> Tensors::keep(py::handle tensor) {
  const auto before =
      std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.tensor.is(tensor); });
  if (before != kept_.end()) return before->array;
  const auto type = type_of(tensor);
  const py::object shape = attribute(tensor, names().shape);  // a tuple
  const auto num_dimensions = static_cast<std::size_t>(PyTuple_Size(shape.ptr()));
  if (!type || num_dimensions > KeptArray::kMaxDimensions) return std::nullopt;
  KeptArray array{.type = *type, .num_dimensions = num_dimensions};
  for (std::size_t i = 0; i < num_dimensions; ++i)
    array.shape[i] = static_cast<std::size_t>(PyLong_AsSsize_t(PyTuple_GET_ITEM(shape.ptr(), i)));
  const std::size_t size = array.num_elements() * type->size;
  if (size == 0) return array;  // of the host: it needs no bytes
  if (!copies_) {
    copies_ = copies_of_(tensor.attr("device"));
    if (py::isinstance<ArrayCopies>(copies_)) kernel_ = copies_.cast<ArrayCopies*>();
  }
  if (batch_ == nullptr) batch_ = std::make_shared<DeviceBatch>();
  array.batch = batch_;
  array.begin = num_bytes_;
  const std::size_t alignment = kernel_ == nullptr ? 1 : kAlignment;
  num_bytes_ += (size + alignment - 1) / alignment * alignment;
  auto kept = py::reinterpret_borrow<py::object>(tensor);
  py::object contiguous = call(tensor, names().is_contiguous).ptr() == Py_True
                              ? kept
                              : call(tensor, names().contiguous);
  kept_.push_back({std::move(kept), std::move(contiguous), array});
  return array;
}

void Tensors::launch() {
  if (kept_.empty()) return;
  const std::shared_ptr<DeviceBatch> batch = std::exchange(batch_, nullptr);
  const auto kept = std::exchange(kept_, {});
  const auto num_bytes = static_cast<std::int64_t>(std::exchange(num_bytes_, 0));
  if (kernel_ == nullptr) {
    py::list tensors;
    for (const Kept& one : kept) tensors.append(one.contiguous);
    batch->copied = std::make_shared<CopiedByPython>(copies_.attr("launch")(tensors));
    return;
  }
  std::vector<ArrayCopy> copies;
  copies.reserve(kept.size());
  for (const Kept& one : kept)
    copies.push_back({reinterpret_cast<const std::byte*>(
                          call(one.contiguous, names().data_ptr).cast<std::uintptr_t>()),
                      static_cast<std::int64_t>(one.array.num_elements() * one.array.type.size),
                      static_cast<std::int64_t>(one.array.begin)});
  batch->copied = kernel_->launch(copies, num_bytes);
}

}  // namespace hybridscope
