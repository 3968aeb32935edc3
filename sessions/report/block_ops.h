// A step's changes of block tables and labels as short lists of numbers, and the state that such
// lists lead to. A report that begins in the middle of a run starts with that state.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "core/caching/cache_events.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// A list is a sequence of operations without separators (report_state.js reads them):
//   0 request group column n block...   columns from `column` on hold these blocks
//   1 request group column n block      the same, block, block + 1, ...: n of them
//   2 request group                     the request's table of the group is dropped
//   3 block request group num_tokens    the block is labelled as the state after num_tokens tokens
//   4 block                             it loses its label
nlohmann::json block_ops(std::span<const CacheEvent> events);
// The changes of the worker's tables in the same form.
nlohmann::json block_ops(std::span<const WorkerTableChange> changes);

// Tables and labels after any number of steps.
class BlockState {
 public:
  void apply(std::span<const CacheEvent> events);
  void apply(std::span<const WorkerTableChange> changes);

  // The requests in tables and labels; may contain duplicates.
  std::vector<RequestId> requests() const;

  nlohmann::json scheduler_ops() const;
  nlohmann::json worker_ops() const;

 private:
  struct Key {
    std::int32_t request = -1;
    std::int32_t group = -1;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Label {
    Key key;
    std::int32_t num_tokens = 0;
  };
  using Tables = std::map<Key, std::vector<std::int32_t>>;

  static nlohmann::json table_ops(const Tables& tables);

  Tables scheduler_;
  Tables worker_;
  std::map<std::int32_t, Label> labels_;  // by block
};

}  // namespace hybridscope
