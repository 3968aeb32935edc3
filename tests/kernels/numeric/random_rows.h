// Random rows as metadata builders make them, padding among them, in all cache modes. Each column
// of a row has a block of its own, or none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/numeric/paged_attention.h"
#include "core/numeric/state_rows.h"
#include "tests/kernels/numeric/numeric_case.h"

namespace hybridscope::test {

// none: modes none and align; spec: verify rows of 1 to 1 + K tokens with accepted counts.
enum class DecodeKind : std::uint8_t { none, spec, all, all_spec };
inline const std::vector<DecodeKind> kDecodeKinds = {DecodeKind::none, DecodeKind::spec,
                                                     DecodeKind::all, DecodeKind::all_spec};

// Owns the arrays that rows() views.
class RandomDecodeRows {
 public:
  RandomDecodeRows(NumericDraw& draw, DecodeKind kind);
  DecodeRows rows() const;
  std::int32_t num_drafts() const { return num_drafts_; }
  // Some may be behind the last row.
  std::int32_t num_tokens() const { return num_tokens_; }
  std::int32_t num_blocks() const { return num_blocks_; }

 private:
  std::int32_t num_drafts_ = 0;  // K
  std::int32_t columns_ = 1;
  std::int32_t num_tokens_ = 0;
  std::int32_t num_blocks_ = 0;
  std::vector<std::int32_t> table_, starts_, accepted_, source_, destination_;
};

// Mode all where `mode_all`, else modes none and align. `longest`: tokens of a long row.
class RandomPrefillRows {
 public:
  RandomPrefillRows(NumericDraw& draw, bool mode_all, std::int32_t longest = 70);
  PrefillRows rows() const;
  std::int32_t num_tokens() const { return num_tokens_; }
  std::int32_t num_blocks() const { return num_blocks_; }

 private:
  std::int32_t block_size_ = 0;
  std::int32_t columns_ = 1;
  std::int32_t num_tokens_ = 0;
  std::int32_t num_blocks_ = 0;
  std::vector<std::int32_t> table_, starts_, first_, last_, last_computed_, computed_;
  std::vector<std::int32_t> checkpoint_offsets_, checkpoint_blocks_;
  std::vector<std::uint8_t> has_initial_states_;
};

// Rows of decodes and prompts; some have no sequence.
class RandomAttentionRows {
 public:
  RandomAttentionRows(NumericDraw& draw, std::int32_t block_size);
  AttentionRows rows() const;
  std::int32_t num_tokens() const { return num_tokens_; }
  std::int32_t num_blocks() const { return num_blocks_; }

 private:
  std::int32_t columns_ = 1;
  std::int32_t num_tokens_ = 0;
  std::int32_t num_blocks_ = 0;
  std::vector<std::int32_t> table_, starts_, seq_lens_;
};

}  // namespace hybridscope::test
