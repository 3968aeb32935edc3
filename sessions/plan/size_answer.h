// Sizes without traffic, in numbers, sentences and JSON: what a model and its settings hold,
// computed from the layout and by running one or two requests (docs/plan.md).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_layout.h"
#include "core/model/model_spec.h"
#include "sessions/plan/request_blocks.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {

// Blocks of the pool by what they are for, while as many requests as it holds are at their peak.
struct PoolUse {
  std::string kind = {};  // "attention", "running states", "snapshots", "states for drafts", ..
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;
  std::int64_t padding_bytes = 0;  // of `bytes`: what holds nothing
};

// What bounds the requests that run together.
struct SizeLimit {
  std::string name = {};  // "blocks", "max_num_seqs", "max_num_batched_tokens"
  std::int64_t requests = 0;
  bool binds = false;  // no other is smaller
};

struct RequestsAtOnce {
  RequestBlocks held = {};
  std::int64_t by_blocks = 0;
};

// Where hits can end.
struct HitRules {
  bool caching = false;
  std::int32_t grid = 0;                             // tokens; every hit is a multiple of it
  std::optional<std::int32_t> smallest_prefix = {};  // in common with an earlier request
  std::optional<std::int32_t> smallest_prompt = {};  // of the request that it serves
  std::int32_t computed_again = 0;  // tokens that a draft model computes again at a hit's end
};

struct SizeAnswer {
  EngineSetup setup;
  RequestShape shape = {};
  bool shape_given = false;
  std::int64_t block_bytes = 0;  // one block in all layers of a group
  std::int64_t usable_blocks = 0;
  std::int64_t memory_bytes = 0;             // of the pool; 0: the number of blocks was given
  std::vector<RequestsAtOnce> at_once = {};  // nothing warm first
  std::int64_t longest_request = 0;          // tokens of a request that runs alone
  HitRules hits = {};
  std::vector<PoolUse> pool = {};
  std::vector<SizeLimit> limits = {};
  std::int64_t next_request_bytes = 0;  // more memory for one more request by blocks; 0: not known
  // The engine does not start with these many sequences, which are more than blocks: the rest is
  // told for the default.
  std::optional<std::int32_t> refused_max_num_seqs = {};
};

// `shape` empty: a request of max_model_len tokens. Errors: those of make_engine_setup and
// measure_request_blocks.
Result<SizeAnswer> answer_sizes(const ModelSpec& model, const EngineSettings& settings,
                                const std::optional<RequestShape>& shape);

// The smallest of the limits.
std::int64_t requests_that_run(const SizeAnswer& answer);

// Which single setting would change the sizes, and by how much: each is tried.

// One setting with another value, and the sizes with it.
struct SizeChange {
  std::string setting = {};  // path in the settings table
  std::string value = {};    // as a command line writes it
  EngineSettings settings = {};
  std::int64_t requests = 0;  // that run together
  std::int64_t by_blocks = 0;
  std::int64_t block_size = 0;                       // tokens
  std::optional<std::int32_t> smallest_prefix = {};  // tokens
};

// Changes after which more requests run together or a shorter prefix can hit, in the order in which
// they were tried: max_num_seqs, the memory for one request more, dtypes, cache mode, drafts,
// tensor parallelism. A change that the model or the release does not allow is left out.
std::vector<SizeChange> useful_changes(const ModelSpec& model, const EngineSettings& settings,
                                       const SizeAnswer& answer);

// The sizes of a SizeAnswer in sentences and as JSON.

// "block 544 and not 528 tokens, because the state of a layer needs 1,097,728 bytes: ..": why the
// block has this size, with the numbers of the layout. Without full stop.
std::string why_block_size(const ModelLayout& layout);

// A page of text.
std::string explain_sizes(const SizeAnswer& answer, const std::vector<SizeChange>& changes);

// The facts of explain_sizes() as one object.
nlohmann::ordered_json sizes_to_json(const SizeAnswer& answer,
                                     const std::vector<SizeChange>& changes);

}  // namespace hybridscope
