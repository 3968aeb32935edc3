#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "integrations/python/src/bindings.h"
#include "integrations/python/src/given.h"
#include "integrations/python/src/locked.h"
#include "integrations/python/src/raise.h"
#include "kernels/cpu/state_hash_cpu.h"
#include "kernels/cuda/state_hash_cuda.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

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

}  // namespace hybridscope
