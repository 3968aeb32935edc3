// One KV-cache group's rows of a step, out of the arrays that its metadata has (numerics: which
// array says what), with what each row reads and writes. Arrays of other engines, and of faulty
// policies, may name blocks, columns or tokens that do not exist: those are no block and no token
// here, so that the forward pass runs whatever they say.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/model/kv_cache_spec.h"
#include "core/numeric/model_forward.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// A place in the blocks that a row of the batch reads before the layers run, or that it has
// written after them, and how many tokens of its request should be in it.
struct RowState {
  std::int32_t row = -1;  // of the batch
  StateKind kind = StateKind::temporal;
  std::int32_t block = 0;
  std::int32_t first_position = 0;  // conv: positions [first, first + W - 1)
  std::int32_t num_tokens = 0;      // of the row's, 0: what it continues
};

// A block that a row of the step writes, a padding row (-1) or one that a replayed graph's old
// arrays lead elsewhere included.
struct WrittenPlace {
  std::int32_t row = -1;  // of the batch
  StateKind kind = StateKind::temporal;
  std::int32_t block = 0;
  std::int32_t num_tokens = 0;  // of the row's
  bool is_decode = false;
};

// What rows may name.
struct BatchSize {
  std::int32_t num_tokens = 0;  // of the batch, padding included
  std::int32_t num_blocks = 0;
  std::int32_t num_speculative_tokens = 0;  // K
  bool is_chunked = false;                  // form chunked: prefill rows get their chunks
};

class GroupRows {
 public:
  // `trace` and `size` are used during the call only.
  void read(const StepTrace& trace, const GroupTrace& group, MambaCacheMode mode,
            const BatchSize& size);

  const ForwardGroup& group() const { return group_; }
  const std::vector<RowState>& reads() const { return reads_; }
  const std::vector<RowState>& writes() const { return writes_; }
  const std::vector<WrittenPlace>& written() const { return written_; }

 private:
  using Ints = std::vector<std::int32_t>;

  void read_attention(const StepTrace& trace, const GroupTrace& group);
  // `mamba2`: the metadata whose base is `m`; null: of another kind.
  void read_mamba(const StepTrace& trace, const GroupTrace& group, const MambaMetadata& m,
                  MambaCacheMode mode, const Mamba2Metadata* mamba2);
  void read_gdn(const StepTrace& trace, const GroupTrace& group, const GdnMetadata& m,
                MambaCacheMode mode);

  // Copies that live as long as the rows, of `count` rows each; what an array does not have is no
  // block, no token, no state.
  std::span<const std::int32_t> keep(Ints values);
  std::span<const std::uint8_t> keep_flags(const TensorView<std::uint8_t>& flags,
                                           std::int32_t count);
  TensorView<std::int32_t> keep_blocks(const TensorView<std::int32_t>& table, std::int32_t count);
  // [count + 1] ascending offsets within [0, most]; an absent array: one token a row.
  std::span<const std::int32_t> keep_starts(const TensorView<std::int32_t>& starts,
                                            std::int32_t count, std::int32_t most);
  // Keeps the values of `count` rows from row `first` on.
  std::span<const std::int32_t> keep_rows(const TensorView<std::int32_t>& values,
                                          std::int32_t first, std::int32_t count,
                                          std::int32_t otherwise);
  void set_checkpoints(const CheckpointMetadata& checkpoint, std::int32_t first, std::int32_t count,
                       PrefillRows& rows);
  std::vector<std::int32_t> tokens_from(std::int32_t first, std::int32_t count) const;
  // The tokens that an index array names; an absent array: the first `count`.
  std::vector<std::int32_t> gathered(const TensorView<std::int32_t>& tokens,
                                     std::int32_t count) const;

  // The batch of which a part's rows are made; set_chunks() gives the part the chunks that the
  // metadata cuts, if it cuts any.
  struct ChunkedBatch {
    std::int32_t num_rows = 0;     // of the batch, without padding rows
    std::int32_t first_token = 0;  // of the part, as the chunks count tokens
  };
  void set_chunks(const BuilderMetadata& metadata, const ChunkedBatch& batch,
                  const Ints& batch_rows, PrefillPart& part);
  void set_variants(const StepTrace& trace, DecodePart& part) const;
  void note_decodes(const DecodePart& part, const Ints& batch_rows);
  void note_prefills(const PrefillPart& part, const Ints& batch_rows);
  static void add_place(std::vector<RowState>& places, RowState place);
  void add_write(RowState place, bool is_decode);

  BatchSize size_;
  ForwardGroup group_;
  std::deque<Ints> ints_;
  std::deque<std::vector<std::uint8_t>> flags_;
  std::vector<RowState> reads_;
  std::vector<RowState> writes_;
  std::vector<WrittenPlace> written_;
};

}  // namespace hybridscope
