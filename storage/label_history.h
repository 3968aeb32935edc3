// What the blocks of a session are registered as, at any step: read from its block events in one
// pass, a slice at a time, and kept in memory (24 bytes a change).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/fingerprint.h"
#include "storage/block_rows.h"
#include "storage/table_cursor.h"

namespace hybridscope {

// The prefix that a registered block stands for.
struct RegisteredLabel {
  std::int32_t step = 0;  // that registered it
  std::int32_t group = -1;
  std::int32_t num_tokens = 0;
  Fingerprint block_hash = 0;
  friend bool operator==(const RegisteredLabel&, const RegisteredLabel&) = default;
};

class LabelHistory {
 public:
  LabelHistory(ReadContext& context, const BlockLimits& limits);

  // Reads on for at most so many changes. False: all of it has been read, or an error, which is
  // the context's.
  bool read_on(std::int64_t max_rows);
  bool complete() const { return complete_; }

  // What the block was registered as when the step was over. Requires: complete().
  std::optional<RegisteredLabel> label(std::int32_t block, std::int64_t step) const;

 private:
  ReadContext& context_;
  BlockLimits limits_;
  ReadStatement rows_;
  bool started_ = false;
  bool complete_ = false;
  std::vector<std::vector<RegisteredLabel>> changes_;  // [num_blocks] by step; group -1: lost
};

}  // namespace hybridscope
