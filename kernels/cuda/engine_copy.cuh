// Moves made by the bulk copy engine (sm_90): producers look them up, one thread drives the engine.
#pragma once

#include <cstdint>

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/fused_types.cuh"
#include "kernels/cuda/warp_copy.cuh"

namespace hybridscope::fused {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// One thread: looks moves up and passes them to the engine. It takes a move's number from the
// counter only when it has room for the move: a number that waits is moved long after its
// neighbours. The first kStatic numbers are fixed, so that a short launch needs no counter.
__device__ inline void produce(const Args& args, Shared& shared, int count, int producer) {
  const int num_moves = count * args.tiles_per_row;
  const int num_producers = static_cast<int>(gridDim.x) * kProducers;
  const int first = work_of_block(args) + producer * static_cast<int>(gridDim.x);
  int num_taken = 0;
#pragma unroll 1
  while (true) {
    const int turn = atomicAdd(&shared.next_turn, 1);
    const int slot = turn % kRing;
    bulk::wait(&shared.moved[slot], static_cast<std::uint32_t>((turn / kRing) & 1) ^ 1U);
    Move move;
    do {
      const int n = num_taken < kStatic
                        ? first + num_taken * num_producers
                        : kStatic * num_producers +
                              static_cast<int>(atomicAdd(&args.counters->next_tile, 1U));
      ++num_taken;
      move = n < num_moves ? look_up(args, shared, count, n) : Move{.num_segments = kEnd};
    } while (move.num_segments == 0 || !is_for_engine(move));
    shared.ring[slot] = move;
    bulk::arrive(&shared.looked_up[slot]);
    if (move.num_segments == kEnd) return;
  }
}

// One thread: keeps kStages - 1 tiles of loads in flight, and stores what has arrived, in order.
class Engine {
 public:
  __device__ Engine(Shared& shared, char* stages) : shared_(shared), stages_(stages) {}

  __device__ void run() {
    bool more = true;
    for (int i = 0; i < kStages && more; ++i) more = load_next();
    for (bool first = true; num_stored_ < num_loaded_; first = false) {
      store_oldest();
      if (!more || first) continue;
      bulk::wait_read<1>();  // the stage before this one is free
      more = load_next();
    }
    bulk::wait_read<0>();  // what is left to write ends before the launch does
  }

 private:
  // False: no move is left.
  __device__ bool load_next() {
#pragma unroll 1
    while (num_ended_ < kProducers) {
      const unsigned int slot = turn_ % kRing;
      bulk::wait(&shared_.looked_up[slot], (turn_ / kRing) & 1U);
      ++turn_;
      const Move move = shared_.ring[slot];
      if (move.num_segments == kEnd) {
        ++num_ended_;
        bulk::arrive(&shared_.moved[slot]);
        continue;
      }
      const unsigned int stage = num_loaded_++ % kStages;
      shared_.stage_slots[stage] = slot;
      const auto bytes = static_cast<std::uint32_t>(move.segment_bytes);
      bulk::arrive_expecting(&shared_.loaded[stage],
                             bytes * static_cast<std::uint32_t>(move.num_segments));
#pragma unroll 1
      for (int i = 0; i < move.num_segments; ++i)
        bulk::load(stages_ + stage * kTileBytes + i * move.segment_bytes, move.src + i * move.pitch,
                   bytes, &shared_.loaded[stage]);
      return true;
    }
    return false;
  }

  __device__ void store_oldest() {
    const unsigned int stage = num_stored_ % kStages;
    bulk::wait(&shared_.loaded[stage], (num_stored_ / kStages) & 1U);
    const unsigned int slot = shared_.stage_slots[stage];
    const Move move = shared_.ring[slot];
#pragma unroll 1
    for (int i = 0; i < move.num_segments; ++i)
      bulk::store(move.dst + i * move.pitch, stages_ + stage * kTileBytes + i * move.segment_bytes,
                  static_cast<std::uint32_t>(move.segment_bytes));
    bulk::commit();
    bulk::arrive(&shared_.moved[slot]);
    ++num_stored_;
  }

  Shared& shared_;
  char* stages_;
  int num_ended_ = 0;      // of the producers
  unsigned int turn_ = 0;  // moves seen, and ends
  unsigned int num_loaded_ = 0;
  unsigned int num_stored_ = 0;
};

// To be called before run_by_engine, with a barrier of the block in between.
__device__ inline void prepare_engine(Shared& shared) {
  if (threadIdx.x == 0) shared.next_turn = 0;
  if (threadIdx.x < kRing) {
    bulk::init(&shared.looked_up[threadIdx.x]);
    bulk::init(&shared.moved[threadIdx.x]);
    if (threadIdx.x < kStages) bulk::init(&shared.loaded[threadIdx.x]);
    bulk::fence_init();
  }
}

// What the engine cannot move, by the warps that do not work for it.
__device__ inline void move_rest_by_warps(const Args& args, const Shared& shared, int count) {
  if (threadIdx.x / 32 > kProducers)
    move_by_warps(args, shared, count, 1 + kProducers, Moves::not_for_engine);
}

__device__ inline void run_by_engine(const Args& args, Shared& shared, char* stages, int count) {
  const int warp = static_cast<int>(threadIdx.x / 32);
  if (warp > 0 && warp <= kProducers && threadIdx.x % 32 == 0)
    produce(args, shared, count, warp - 1);
  if (threadIdx.x == 0) Engine(shared, stages).run();
  __syncthreads();
  // A block counts as done after it has taken its last tile; the last one done clears the counters.
  if (threadIdx.x == 0) {
    __threadfence();
    if (atomicAdd(&args.counters->blocks_done, 1U) == gridDim.x - 1) {
      args.counters->next_tile = 0;
      args.counters->blocks_done = 0;
    }
  }
}

#endif

}  // namespace hybridscope::fused
