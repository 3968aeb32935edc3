// How many blocks requests of one shape hold, measured by running the engine itself with one or two
// of them, and how many of them a pool therefore holds at once.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine_config.h"

namespace hybridscope {

// Requests that are alike: `prompt` tokens, the first `shared` of them equal in all, and `output`
// generated tokens.
struct RequestShape {
  std::int32_t prompt = 1;
  std::int32_t output = 1;
  std::int32_t shared = 0;
  friend bool operator==(const RequestShape&, const RequestShape&) = default;
};

// What was in the prefix cache before.
enum class WarmCache : std::uint8_t {
  nothing,        // no hit
  whole_request,  // two requests of the same shape ran to their ends, one after the other
  shared_prompt   // a request whose prompt is the shared tokens alone did
};

// What `n` such requests hold in one of their steps: shared + n * own blocks over all groups.
struct HeldInStep {
  std::int64_t own = 0;
  std::int64_t shared = 0;
  friend bool operator==(const HeldInStep&, const HeldInStep&) = default;
};

// What requests of a shape hold, without null blocks.
struct RequestBlocks {
  WarmCache warm = WarmCache::nothing;
  std::int32_t num_hit_tokens = 0;
  HeldInStep first = {};               // once they are admitted
  HeldInStep most = {};                // when many of them hold the most
  std::vector<HeldInStep> steps = {};  // all that differ, `first` and `most` too
  // Blocks that must be free besides those that are held, because allocate_slots asks for more than
  // it gives out.
  std::int64_t margin = 0;
  std::int64_t needed_to_be_admitted = 0;   // free blocks, without the watermark
  std::vector<std::int64_t> by_group = {};  // [num_groups], of one request in `most`
};

// Runs one to a few requests to their end, each with at most max_num_batched_tokens tokens a step.
// Without a warm cache nothing is shared. No draft is accepted, so every length is passed through.
// Errors: a shape that is out of range or that check_request_fits refuses in any pool.
Result<RequestBlocks> measure_request_blocks(const EngineConfig& config, const RequestShape& shape,
                                             WarmCache warm);

// Requests that a pool of `num_blocks` blocks (the null block included) holds at once, counted from
// what one and two of them hold: so many that start together never wait for a block and are not
// preempted, one more would. max_num_seqs and the budget of a step are not looked at. `watermark`:
// fraction of num_blocks. Releases that ask for more blocks than they give out may hold fewer;
// try_requests_at_once is exact.
struct BlockPoolSize {
  std::int64_t num_blocks = 0;
  double watermark = 0.0;
};
std::int64_t requests_at_once(const RequestBlocks& held, const BlockPoolSize& pool);

// requests_at_once() for the pool of `config`, corrected by running so many requests, and one more,
// where that takes at most `kMostTriedRows` rows.
inline constexpr std::int64_t kMostTriedRows = 20000;
inline constexpr std::int64_t kMostTriedBlocks = 100000;
std::int64_t try_requests_at_once(const EngineConfig& config, const RequestShape& shape,
                                  const RequestBlocks& held);

// The smallest pool, the null block included, that holds so many at once. Requires: requests > 0
// and no watermark.
std::int64_t blocks_for_requests(const RequestBlocks& held, std::int64_t requests);

}  // namespace hybridscope
