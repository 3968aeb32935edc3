// A warp's part of a state while the tokens of a row are folded into it. A state has
//   begin(rows): the part's rows of a block, which may come while the warp goes on; null: zeros
//   wait(): until they are there
//   begin_token(rows): where the state after the token goes; null: nowhere
//   before_writes(): call between the last token's end and the first write
//   read, write: the thread's elements of chunk c in its row r
//   end_token()
//   store(rows): besides, where the state after the last token goes
//   end(): until nothing reads shared memory any more
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/numeric/staged_rows.cuh"

namespace hybridscope::numeric_cuda {

// In shared memory, as it goes to a block: float32, or any type where a row has one token.
template <class PartOf, class T>
class StagedState {
 public:
  using Rows = StagedRows<PartOf, T>;
  using Values = float[PartOf::kLanes];
  static constexpr int kBytes = Rows::kSize * sizeof(T);

  __device__ StagedState(char* memory, const PartOf& part)
      : part_(part), rows_(reinterpret_cast<T*>(memory)) {}

  __device__ void begin(const T* rows) const { rows_.begin(rows, part_); }
  __device__ void wait() const { Rows::wait(); }
  __device__ void begin_token(T* rows) { to_ = rows; }
  __device__ void before_writes() const { Rows::template wait_until_stored<0>(); }
  __device__ void read(Values& values, int r, int c) const { rows_.read(values, r, c, part_); }
  __device__ void write(const Values& values, int r, int c) const {
    rows_.write(values, r, c, part_);
  }
  __device__ void end_token() const { store(to_); }
  __device__ void store(T* rows) const {
    if (rows != nullptr) rows_.store(rows, part_);
  }
  __device__ void end() const { Rows::template wait_until_stored<0>(); }

 private:
  const PartOf& part_;
  Rows rows_;
  T* to_ = nullptr;
};

// In registers, in float32; shared memory is where it is rounded on its way to a block.
template <class PartOf, class T>
class HeldState {
 public:
  using Rows = StagedRows<PartOf, T>;
  using Values = float[PartOf::kLanes];
  static constexpr int kStages = 2;
  static constexpr int kBytes = kStages * Rows::kSize * sizeof(T);

  __device__ HeldState(char* memory, const PartOf& part)
      : part_(part), memory_(reinterpret_cast<T*>(memory)) {}

  __device__ void begin(const T* rows) const { stage().begin(rows, part_); }
  __device__ void wait() {
    Rows::wait();
#pragma unroll
    for (int r = 0; r < PartOf::kThreadRows; ++r)
#pragma unroll
      for (int c = 0; c < PartOf::kChunks; ++c) stage().read(values_[r][c], r, c, part_);
  }
  __device__ void begin_token(T* rows) { to_ = rows; }
  __device__ void before_writes() const { Rows::template wait_until_stored<kStages - 1>(); }
  __device__ void read(Values& values, int r, int c) const {
#pragma unroll
    for (int i = 0; i < PartOf::kLanes; ++i) values[i] = values_[r][c][i];
  }
  __device__ void write(const Values& values, int r, int c) {
#pragma unroll
    for (int i = 0; i < PartOf::kLanes; ++i) values_[r][c][i] = values[i];
    stage().write(values, r, c, part_);
  }
  __device__ void end_token() {
    if (to_ != nullptr) stage().store(to_, part_);
    stage_ = (stage_ + 1) % kStages;
  }
  __device__ void store(T* rows) const {
    if (rows == nullptr) return;
    before_writes();
#pragma unroll
    for (int r = 0; r < PartOf::kThreadRows; ++r)
#pragma unroll
      for (int c = 0; c < PartOf::kChunks; ++c) stage().write(values_[r][c], r, c, part_);
    stage().store(rows, part_);
  }
  __device__ void end() const { Rows::template wait_until_stored<0>(); }

 private:
  __device__ Rows stage() const { return Rows(memory_ + stage_ * Rows::kSize); }

  const PartOf& part_;
  T* memory_;
  T* to_ = nullptr;
  int stage_ = 0;
  Values values_[PartOf::kThreadRows][PartOf::kChunks];
};

// In registers, of rows of any size and place, without shared memory.
template <class PartOf, class T>
class PartialState {
 public:
  static_assert(PartOf::kLanes == 1);
  using Values = float[1];
  static constexpr int kBytes = 0;

  __device__ PartialState(char*, const PartOf& part) : part_(part) {}

  __device__ void begin(const T* rows) {
    for_each_element([&](int r, int c, int at) {
      values_[r][c] = rows == nullptr || at < 0 ? 0.0F : to_float(rows[at]);
    });
  }
  __device__ void wait() const {}
  __device__ void begin_token(T* rows) { to_ = rows; }
  __device__ void before_writes() const {}
  __device__ void read(Values& values, int r, int c) const { values[0] = values_[r][c]; }
  __device__ void write(const Values& values, int r, int c) { values_[r][c] = values[0]; }
  __device__ void end_token() { store(to_); }
  __device__ void store(T* rows) {
    if (rows == nullptr) return;
    for_each_element([&](int r, int c, int at) {
      if (at >= 0) rows[at] = from_float<T>(values_[r][c]);
    });
  }
  __device__ void end() const {}

 private:
  // `at`: where the thread's element lies among the part's rows; -1: the rows do not have it.
  template <class Function>
  __device__ void for_each_element(const Function& function) {
#pragma unroll
    for (int r = 0; r < PartOf::kThreadRows; ++r)
#pragma unroll
      for (int c = 0; c < PartOf::kChunks; ++c)
        function(r, c,
                 part_.has_row(r) && part_.has(c) ? part_.row(r) * part_.n + part_.element(c) : -1);
  }

  const PartOf& part_;
  T* to_ = nullptr;
  float values_[PartOf::kThreadRows][PartOf::kChunks];
};

// kMany: rows may have several tokens.
template <class PartOf, class T, bool kMany, bool kIsWhole = PartOf::kIsWhole>
struct StateOfPart {
  using Type = std::conditional_t<kMany && !std::is_same_v<T, float>, HeldState<PartOf, T>,
                                  StagedState<PartOf, T>>;
};
template <class PartOf, class T, bool kMany>
struct StateOfPart<PartOf, T, kMany, false> {
  using Type = PartialState<PartOf, T>;
};

}  // namespace hybridscope::numeric_cuda
