#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "integrations/python/src/bindings.h"
#include "integrations/python/src/locked.h"
#include "integrations/python/src/raise.h"
#include "kernels/cuda/array_copies_cuda.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

// Bytes of device arrays in host memory, with the buffer protocol; valid after wait().
class Copied {
 public:
  explicit Copied(std::shared_ptr<const CopiedArrays> arrays) : arrays_(std::move(arrays)) {}

  void wait() const {
    raise_if_failed(without_gil([&] { return arrays_->wait(); }));
  }
  py::buffer_info buffer() const {
    const std::span<const std::byte> bytes = arrays_->bytes();
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()),
            static_cast<py::ssize_t>(bytes.size())};
  }

 private:
  std::shared_ptr<const CopiedArrays> arrays_;
};

// Copies arrays of a device into host memory. Raises NotAvailable (built without CUDA, no device)
// and Device.
class ArrayCopies {
 public:
  explicit ArrayCopies(std::int32_t device)
      : copies_(value_or_raise(ArrayCopiesCuda::create(device))) {}

  // `arrays`: address, bytes and offset in the result of each. Returns when the copies are queued,
  // and keeps the GIL: who gives it away may wait for it.
  Copied launch(const std::vector<std::tuple<std::uintptr_t, std::int64_t, std::int64_t>>& arrays,
                std::int64_t num_bytes, std::uintptr_t stream) {
    std::vector<ArrayCopy> copies;
    copies.reserve(arrays.size());
    for (const auto& [address, size, to] : arrays)
      copies.push_back({reinterpret_cast<const std::byte*>(address), size, to});
    return Copied(
        value_or_raise(copies_.launch(copies, num_bytes, reinterpret_cast<CUstream_st*>(stream))));
  }

 private:
  ArrayCopiesCuda copies_;
};

}  // namespace

void bind_copies(py::module_& module) {
  py::class_<Copied>(module, "Copied", py::buffer_protocol())
      .def("wait", &Copied::wait)
      .def_buffer(&Copied::buffer);
  py::class_<ArrayCopies>(module, "ArrayCopies")
      .def(py::init<std::int32_t>(), py::arg("device"))
      .def("launch", &ArrayCopies::launch, py::arg("arrays"), py::arg("num_bytes"),
           py::arg("stream"));
}

}  // namespace hybridscope
