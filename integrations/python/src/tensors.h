// Tensors of torch that an engine's thread hands over without waiting for the device.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "integrations/python/src/text_buffer.h"
#include "kernels/cuda/array_copies_cuda.h"

namespace hybridscope {

// One launch of a kernel of ours copies arrays of a device into host memory. Raises NotAvailable
// (built without CUDA, no device) and Device.
class ArrayCopies {
 public:
  // stream(): the handle of the stream that the copies are queued on.
  ArrayCopies(std::int32_t device, pybind11::function stream);
  // Queues copies into `num_bytes`. Keeps the GIL: who gives it away may wait for it.
  std::shared_ptr<const CopiedArrays> launch(std::span<const ArrayCopy> arrays,
                                             std::int64_t num_bytes);

 private:
  ArrayCopiesCuda copies_;
  pybind11::function stream_;
};

// Each function, the destructor too, requires the GIL.
class Tensors {
 public:
  // `tensor`: the type torch.Tensor; None: there are no tensors. `types`: numpy's dtype for each of
  // torch's; others are not taken. copies(device): ArrayCopies, or an object whose launch(tensors)
  // queues copies of the bytes of contiguous tensors, one behind the other, and whose result's
  // bytes() waits and gives them as a buffer.
  Tensors(pybind11::object tensor, const pybind11::dict& types, pybind11::object copies);

  bool is_tensor(pybind11::handle value) const;
  // Is its type taken?
  bool takes(pybind11::handle tensor) const { return type_of(tensor).has_value(); }
  // On a device, and not in the host's memory.
  bool is_on_device(pybind11::handle tensor) const;
  // What will have the elements of a device's tensor after the next launch(), until when they must
  // not change, as far as the current stream goes. None: its type or shape is not taken.
  std::optional<KeptArray> keep(pybind11::handle tensor);
  // Begins the copies of what was kept.
  void launch();

 private:
  struct Kept {
    pybind11::object tensor;  // its memory is nobody else's, and no later tensor is at its address
    pybind11::object contiguous;
    KeptArray array;
  };

  std::optional<ElementType> type_of(pybind11::handle tensor) const;
  std::size_t num_bytes_of(const KeptArray& array) const;

  pybind11::object tensor_;
  std::vector<std::pair<pybind11::object, ElementType>> types_;
  pybind11::object copies_of_;
  pybind11::object copies_;        // once the device is known
  ArrayCopies* kernel_ = nullptr;  // what `copies_` is, or null
  std::shared_ptr<DeviceBatch> batch_;
  std::vector<Kept> kept_;
  std::size_t num_bytes_ = 0;
};

}  // namespace hybridscope
