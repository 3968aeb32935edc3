// The bulk copy engine of sm_90: one thread starts copies of whole regions to or from shared memory
// and waits for their bytes (PTX ISA, cp.async.bulk and mbarrier). Addresses and sizes are
// multiples of 16.
#pragma once

#include <cstdint>

namespace hybridscope::bulk {

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// Makes a barrier that completes with one arrival and the bytes it expects.
__device__ inline void init(std::uint64_t* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}

// Makes new barriers visible to the engine; call before it uses them.
__device__ inline void fence_init() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ inline void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

__device__ inline void arrive_expecting(std::uint64_t* barrier, std::uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

// Waits until the phase of that parity is complete.
__device__ inline void wait(std::uint64_t* barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  while (done == 0)
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
}

__device__ inline void load(void* shared, const void* global, std::uint32_t bytes,
                            std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(shared)),
      "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

__device__ inline void store(void* global, const void* shared, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(global)),
               "r"(shared_address(shared)), "r"(bytes)
               : "memory");
}

// Makes the stores since the last call one group.
__device__ inline void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until at most `pending` groups have not yet read their shared memory.
template <int pending>
__device__ inline void wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

}  // namespace hybridscope::bulk
