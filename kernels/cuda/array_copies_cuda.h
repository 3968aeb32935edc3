// Small arrays of a CUDA device that come to the host together: one kernel writes them into host
// memory, so that they cost who queues them one launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/result.h"

struct CUstream_st;

namespace hybridscope {

struct ArrayCopy {
  const std::byte* from = nullptr;  // in the device's memory
  std::int64_t num_bytes = 0;
  std::int64_t to = 0;  // offset in the host's copy
};

// The copies of one launch. Their memory is used again when the object is gone.
class CopiedArrays {
 public:
  virtual ~CopiedArrays() = default;
  // Waits until the copies are made, without using a processor. From any thread. Error: the
  // device's.
  virtual Status wait() const = 0;
  // Valid after wait().
  virtual std::span<const std::byte> bytes() const = 0;
};

class ArrayCopiesCuda {
 public:
  // On the device with this ordinal. Errors: those of expect_cuda_device; the device's.
  static Result<ArrayCopiesCuda> create(std::int32_t device);
  ArrayCopiesCuda(ArrayCopiesCuda&&) noexcept;
  ArrayCopiesCuda& operator=(ArrayCopiesCuda&&) noexcept;
  ~ArrayCopiesCuda();

  // Queues copies into `num_bytes` of host memory on the stream, and waits for nothing; bytes that
  // no copy covers are undefined. The arrays stay as they are until the stream has reached the
  // copies. Errors: invalid_input for a copy that does not fit; the device's.
  Result<std::shared_ptr<const CopiedArrays>> launch(std::span<const ArrayCopy> copies,
                                                     std::int64_t num_bytes, CUstream_st* stream);

 private:
  struct Impl;
  explicit ArrayCopiesCuda(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hybridscope
