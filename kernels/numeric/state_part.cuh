// A warp's part of a state while the tokens of a row are folded into it. A state has
//   begin(rows): the part's rows of a block, which may come while the warp goes on; null: zeros
//   wait(): until they are there
//   begin_token(rows): where the state after the token goes; null: nowhere
//   before_writes(): call between the last token's end and the first write
//   read, write: the thread's elements of chunk c in its row r
//   end_token()
//   store(rows): besides, where the state after the last token goes
//   end(): until nothing reads shared memory any more
// Whole rows of a state in shared memory are one kind of such a part.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/numeric/pool_rows.cuh"
#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope::numeric_cuda {

// Whole rows of a state in shared memory, between their blocks and the threads of a warp: copied in
// by asynchronous copies, and out by the bulk copy engine of sm_90 (on sm_80 by the warp).

inline constexpr int kPieceBytes = 16;  // of an asynchronous copy

// Can the bulk copy engine write rows?
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool kHasEngine = false;
#else
inline constexpr bool kHasEngine = true;
#endif

// All lanes call its functions together.
template <class PartOf, class T>
class StagedRows {
 public:
  static_assert(PartOf::kIsWhole);
  static constexpr int kRowElements = kWarp * PartOf::kChunks;
  static constexpr int kSize = PartOf::kRows * kRowElements;

  __device__ explicit StagedRows(T* memory) : memory_(memory) {}  // [kSize]

  // Copies rows that lie side by side while the warp goes on; null: zeros.
  __device__ void begin(const T* rows, const PartOf& part) const {
    T* to = memory_ + own_piece(part);
    if (rows == nullptr) {
#pragma unroll
      for (int i = 0; i < kPieces; ++i) *reinterpret_cast<uint4*>(to + i * kPassElements) = {};
    } else {
      const T* from = rows + own_piece(part);
#pragma unroll
      for (int i = 0; i < kPieces; ++i)
        copy_piece(to + i * kPassElements, from + i * kPassElements);
    }
  }
  __device__ static void wait() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
  }

  // The thread's elements of chunk c in its row r. Writing: not before what store() was given has
  // been read.
  __device__ void read(float (&values)[PartOf::kLanes], int r, int c, const PartOf& part) const {
    unpack(*at(r, c, part), values);
  }
  __device__ void write(const float (&values)[PartOf::kLanes], int r, int c,
                        const PartOf& part) const {
    *at(r, c, part) = packed<T>(values);
  }

  // Copies the rows out, while the warp goes on where there is an engine.
  __device__ void store(T* rows, const PartOf& part) const {
    if constexpr (kHasEngine) {
      bulk::fence_init();  // of what this lane has written
      __syncwarp();
      if (part.lane == 0) bulk::store(rows, memory_, kSize * sizeof(T));
      bulk::commit();
    } else {
      __syncwarp();
      const T* from = memory_ + own_piece(part);
      T* to = rows + own_piece(part);
#pragma unroll
      for (int i = 0; i < kPieces; ++i)
        *reinterpret_cast<uint4*>(to + i * kPassElements) =
            *reinterpret_cast<const uint4*>(from + i * kPassElements);
    }
  }
  // Waits until all but the last kPending stores have read their rows.
  template <int kPending>
  __device__ static void wait_until_stored() {
    if constexpr (kHasEngine) bulk::wait_read<kPending>();
    __syncwarp();
  }

 private:
  static constexpr int kPieceElements = kPieceBytes / static_cast<int>(sizeof(T));
  static constexpr int kPassElements = kWarp * kPieceElements;  // when each lane copies a piece
  static_assert(kSize % kPassElements == 0);
  static constexpr int kPieces = kSize / kPassElements;  // of a lane

  __device__ static int own_piece(const PartOf& part) { return part.lane * kPieceElements; }
  __device__ static void copy_piece(T* shared, const T* global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(bulk::shared_address(shared)),
                 "l"(global)
                 : "memory");
  }
  __device__ Pack<T, PartOf::kLanes>* at(int r, int c, const PartOf& part) const {
    T* own = memory_ + part.row(0) * kRowElements + part.element(0);
    return reinterpret_cast<Pack<T, PartOf::kLanes>*>(own + r * PartOf::kLanes * kRowElements +
                                                      c * kWarp);
  }

  T* memory_;
};

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

// How the rows of a state are shared out: to warps in parts, and a part's elements to threads.

struct MatrixShape {
  std::int32_t heads = 0;
  std::int32_t head_rows = 0;
  std::int32_t n = 0;  // elements of a row
};

// Whole: n = 32 * kChunks and every part has kRows rows, so that nothing is masked; a thread takes
// kLanes elements side by side, all of which are aligned for it.
enum class Fit : std::uint8_t { whole, partial };

// What a warp has: rows [first, first + count) of a head. A row is cut into chunks of 32 elements.
// A thread has kThreadRows of the rows, and kLanes elements of each of their chunks.
template <int kPartRows, int kPartChunks, Fit kFit>
struct Part {
  static constexpr bool kIsWhole = kFit == Fit::whole;
  static constexpr int kLanes = kIsWhole ? 4 : 1;
  static constexpr int kRows = kPartRows;
  static constexpr int kChunks = kPartChunks;
  static constexpr int kThreadRows = kRows / kLanes;
  using Sums = RowSums<kThreadRows, kLanes>;

  std::int32_t head = 0;
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::int32_t n = 0;
  int lane = 0;

  // Row r of the thread, among those of the part.
  __device__ int row(int r) const { return r * kLanes + lane / Sums::kThreads; }
  __device__ bool has_row(int r) const { return kIsWhole || row(r) < count; }
  // The row whose output the thread has; the first of its threads writes it.
  __device__ int own_row() const { return row(Sums::own(lane)); }
  __device__ bool has_own_row() const { return has_row(Sums::own(lane)); }
  __device__ bool writes() const {
    return lane == Sums::thread_of(lane, Sums::own(lane)) && has_own_row();
  }
  // Each thread has a value for its own row; returns the one for the thread's row r.
  __device__ float of_row(float own, int r) const {
    return __shfl_sync(kWholeWarp, own, Sums::thread_of(lane, r));
  }

  // Where the thread's elements of chunk c begin in a row.
  __device__ int element(int c) const { return lane % Sums::kThreads * kLanes + c * kWarp; }
  __device__ bool has(int c) const { return kIsWhole || element(c) < n; }
  __device__ float masked(int c, float term) const { return has(c) ? term : 0.0F; }

  // The thread's elements of chunk c of a vector [kWarp * kChunks] in shared memory.
  __device__ void read(const float* vector, int c, float (&values)[kLanes]) const {
    unpack(*reinterpret_cast<const Pack<float, kLanes>*>(vector + element(c)), values);
  }

  // Where the part's first row begins in a matrix [heads, head_rows, n].
  __device__ std::int64_t offset(const MatrixShape& shape) const {
    const int size = kIsWhole ? kWarp * kChunks : shape.n;
    return (static_cast<std::int64_t>(head) * shape.head_rows + first) * size;
  }
};

}  // namespace hybridscope::numeric_cuda
