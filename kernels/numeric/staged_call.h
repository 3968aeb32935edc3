// A call of kernels on arrays of host memory: they are uploaded, the launches are recorded in a
// CUDA graph and launched from it, results are downloaded. Not for other folders: it includes
// CUDA's headers.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "kernels/cuda/device_memory.h"

namespace hybridscope {

class StagedCall {
 public:
  explicit StagedCall(std::int32_t device);

  // The array on the device, which lives as long as this. After an error all arrays are empty and
  // run() returns the error.
  template <class T>
  std::span<const T> in(std::span<const T> host) {
    return device_span<const T>(upload(std::as_bytes(host), nullptr), host.size());
  }
  template <class T>
  TensorView<T> in(TensorView<T> host) {
    const auto size = static_cast<std::size_t>(host.size());
    host.data = in(std::span<const T>(host.data, size)).data();
    return host;
  }
  // run() brings back what it holds then.
  template <class T>
  std::span<T> in_out(std::span<T> host) {
    const auto bytes = std::as_writable_bytes(host);
    return device_span<T>(upload(bytes, bytes.data()), host.size());
  }
  // Room that nobody reads afterwards.
  std::span<float> room(std::size_t size) {
    return device_span<float>(reserve(size * sizeof(float)), size);
  }

  // Waits for the device.
  Status run(const std::function<Status(CUstream_st*)>& launch);

 private:
  struct Download {
    std::span<const std::byte> device;
    std::byte* host = nullptr;
  };

  template <class T>
  static std::span<T> device_span(std::byte* data, std::size_t size) {
    return data == nullptr ? std::span<T>() : std::span<T>(reinterpret_cast<T*>(data), size);
  }
  // Where the uploaded bytes lie on the device; null: there is nothing to upload, or an error.
  // `back`: where run() copies them to; null: nowhere.
  std::byte* upload(std::span<const std::byte> host, std::byte* back);
  std::byte* reserve(std::size_t num_bytes);
  Status launch_recorded(const std::function<Status(CUstream_st*)>& launch);

  std::int32_t device_;
  std::optional<Error> error_;
  std::vector<std::unique_ptr<std::byte, FreeDevice>> memory_;
  std::vector<Download> downloads_;
};

}  // namespace hybridscope
