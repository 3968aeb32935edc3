// A trace file as plain values: another engine's set-up and its decisions, line by line
// (docs/trace-format.md). Requests are numbered in the order in which they are first named.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/check/state_hash_check.h"
#include "core/engine/engine_config.h"
#include "core/engine/releases.h"
#include "core/metadata/builder_metadata.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

// The first line of a trace. config.policies are those of profile `safe`, but for
// prefill_checkpoint where a group can store a state inside a prefill.
struct ForeignHeader {
  std::string name;    // of the run; may be empty
  std::string engine;  // free text, "vllm 0.11.0"; may be empty
  EngineConfig config;
  bool use_eagle = false;           // hits drop their last block, for an EAGLE-like draft model
  PolicyOverrides policies;         // what the run overrode of its profile
  bool hits_inside_blocks = false;  // a hit may end on any multiple of hash_block_size
  bool tells_chunk_size = false;    // else config.chunk_size is a default
  bool tells_hash_block_size = false;
  bool tells_hits_inside_blocks = false;
  bool tells_prefix_caching = false;
  bool tells_cudagraph_mode = false;
  std::optional<Release> release;  // that `engine` names
  bool is_vllm = false;            // `engine` names vLLM, of any version
  // Whether and where prefills store states inside themselves is not in the header. The release
  // says it, as it does for Mamba2 (computed), or it depends on more than the header tells, or on a
  // release of vLLM that is not known (unknown).
  bool computes_checkpoints = false;
  bool checkpoints_unknown = false;
  // The retention interval is not told, and follows from a release of vLLM that is not known.
  bool retention_unknown = false;
  std::vector<std::string> untold;  // members without which nothing can be judged
};

// A range of ForeignStep::ids.
struct IdRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// Block ids of one request, one list per KV cache group: `num_groups` ranges of ForeignStep::lists.
struct BlockLists {
  static constexpr std::uint32_t kAbsent = UINT32_MAX;
  std::uint32_t first = kAbsent;
  bool present() const { return first != kAbsent; }
};

// SchedulerOutput.scheduled_new_reqs[i]: admitted for the first time (V2: or again).
struct ForeignNewRequest {
  RequestId request{};
  IdRange prompt_token_ids{};
  BlockLists block_ids{};
  std::int32_t num_computed_tokens = 0;
  std::int32_t max_tokens = -1;  // sampling_params.max_tokens; -1: not in the trace
  std::int32_t priority = 0;
  std::uint64_t cache_salt = 0;  // 0: none
};

// One request of the parallel lists of SchedulerOutput.scheduled_cached_reqs.
struct ForeignCachedRequest {
  RequestId request{};
  bool resumed = false;        // in resumed_req_ids: new_block_ids replace its lists
  BlockLists new_block_ids{};  // absent: no new blocks in any group
  std::int32_t num_computed_tokens = 0;
  std::int32_t num_output_tokens = -1;  // -1: not in the trace
};

// A request's value in a map of the line.
struct ForeignCount {
  RequestId request{};
  std::int32_t count = 0;
};

struct ForeignBlockIds {
  RequestId request{};
  BlockLists block_ids{};
};

// One row of the worker's batch (InputBatch), in the order of req_ids.
struct ForeignRow {
  RequestId request{};
  std::int32_t slot = -1;                     // V2: idx_mapping; -1: not in the trace
  std::int32_t num_computed_tokens_cpu = -1;  // the host's reported count; -1: not in the trace
  std::int32_t num_computed_tokens = -1;      // the device's exact count; -1: not in the trace
  // At the beginning of the step, before pre-copies; -1: not in the trace.
  std::int32_t num_accepted_tokens = -1;
  std::int32_t num_accepted_tokens_after_preprocess = -1;  // -1: not in the trace
  std::int32_t mamba_state_idx = -1;                       // after pre-copies; -1: not in the trace
  BlockLists block_ids{};                                  // the worker's; absent: not in the trace
};

// A copy of a request's state. By columns (all mamba groups): group is -1, and src_block_idx and
// dest_block_idx are set. By blocks: group, dest_block_id and at least one source are set.
struct ForeignCopy {
  RequestId request{};
  std::int32_t group = -1;
  std::int32_t src_block_idx = -1;
  std::int32_t dest_block_idx = -1;
  std::int32_t conv_src_block_id = -1;      // -1: not in the trace
  std::int32_t temporal_src_block_id = -1;  // -1: not in the trace
  std::int32_t dest_block_id = -1;
  std::int32_t accept_token_bias = -1;  // -1: not in the trace
};

// SchedulerOutput.kv_cache_block_copies[i]: a copy of a whole block, made before anything else of
// the step touches state (semantics: copy-on-write).
struct ForeignBlockCopy {
  RequestId request{};           // for which it is made; -1: not in the trace
  std::int32_t group = -1;       // -1: not in the trace
  std::int32_t num_tokens = -1;  // of the prefix at which the content ends; -1: not in the trace
  std::int32_t src_block_id = 0;
  std::int32_t dst_block_id = 0;
};

// A state that a chunk of a prefill stores on its way (semantics: prefill-checkpoint).
struct ForeignCheckpoint {
  RequestId request{};
  std::int32_t group = -1;
  std::int32_t column = -1;
  std::int32_t block_id = 0;
  std::int32_t num_tokens = 0;  // of the prefix that the state encodes
  bool reserved = true;         // the scheduler made room for it
  bool written = true;          // the group's layers are told to store it
};

// A block got the hash of a prefix of the request's tokens.
struct ForeignHash {
  RequestId request{};
  std::int32_t group = -1;
  std::int32_t column = -1;  // of the request's list; -1: only the prefix cache holds the block
  std::int32_t block_id = 0;
  std::int32_t num_tokens = 0;  // of the prefix
};

// A block lost its hashes, or the one that covers `num_tokens` tokens.
struct ForeignLostHash {
  std::int32_t block_id = 0;
  std::int32_t num_tokens = 0;  // 0: all
};

// Everything that happened to hashes at one time: first what was lost, then what was registered.
struct ForeignHashes {
  std::vector<ForeignLostHash> lost;
  std::vector<ForeignHash> registered;
};

// forward_context: the graph that ran.
struct ForeignGraph {
  CUDAGraphMode cudagraph_runtime_mode = CUDAGraphMode::none;
  std::int32_t num_tokens = 0;  // of the batch descriptor, padding included
  std::int32_t num_reqs = -1;   // padded rows; -1: not in the trace
  std::optional<bool> uniform = {};
};

// A traced array of a metadata object; ForeignStep::ids holds its elements row by row.
struct ForeignArray {
  std::string name;  // "state_indices_tensor_d"
  IdRange values{};
  std::int32_t rows = 0;
  std::int32_t cols = 1;
  bool scalar = false;  // a single number or boolean
  bool none = false;    // the trace says None
};

// The builder's output for one KV cache group.
struct ForeignMetadata {
  std::int32_t group = -1;
  std::vector<ForeignArray> arrays;
};

// One step. An empty optional means that the line lacks the member.
struct ForeignStep {
  std::int64_t line = 0;  // in the file, for messages
  std::int64_t step = 0;
  // Members of the line without which nothing can be judged from here on, for it is not known
  // whether there was nothing to tell.
  std::vector<std::string_view> untold;

  // scheduler_output
  std::vector<ForeignNewRequest> scheduled_new_reqs;
  std::vector<ForeignCachedRequest> scheduled_cached_reqs;
  std::vector<ForeignCount> num_scheduled_tokens;          // in the line's order
  std::vector<ForeignCount> scheduled_spec_decode_tokens;  // number of drafts
  std::vector<ForeignCount> num_drafts_offered;            // before budget and lengths cut them
  std::vector<RequestId> placeholder_drafts;  // padded one-token prompts, whose drafts are -1
  std::vector<RequestId> finished_req_ids;    // since the last step
  std::vector<RequestId> preempted_req_ids;
  std::vector<ForeignBlockCopy> kv_cache_block_copies;
  std::vector<std::int32_t> new_block_ids_to_zero;
  // The members below happened before the step was scheduled, by command.
  bool reset_prefix_cache = false;
  std::vector<RequestId> preempted_by_command;
  std::vector<ForeignCount> num_drafts_proposed;  // in place of what the method proposes
  std::optional<std::int32_t> token_budget;       // of this step; absent: max_num_batched_tokens
  std::optional<std::int64_t> step_time_us;       // how long the frame took

  std::vector<ForeignBlockIds> scheduler_block_ids;  // for requests whose lists changed
  std::vector<ForeignBlockIds> num_cached_block;     // one count per group; absent: by our rule
  std::optional<ForeignHashes> block_hashes;  // by the end of scheduling; absent: by our rule
  ForeignHashes block_hashes_after_output;    // when a frame returned; block_hashes only
  // When a frame returned: the tokens that the scheduler then had of its requests.
  std::vector<ForeignCount> num_tokens_after_output;
  std::vector<ForeignCheckpoint> prefill_checkpoints;
  std::vector<ForeignRow> rows;
  std::optional<std::vector<ForeignCopy>> preprocess_copies;
  std::optional<ForeignGraph> graph;
  std::vector<ForeignMetadata> attn_metadata;
  std::vector<ToldGroup> states;

  // model_runner_output: [rows of num_scheduled_tokens]; absent: the trace ends with this step.
  struct Sampled {
    RequestId request{};
    IdRange token_ids{};
  };
  std::optional<std::vector<Sampled>> sampled_token_ids;
  std::optional<std::vector<ForeignCopy>> postprocess_copies;

  // The storage of all ranges above.
  std::vector<std::int32_t> ids;
  std::vector<IdRange> lists;

  std::span<const std::int32_t> at(IdRange range) const {
    return std::span(ids).subspan(range.first, range.count);
  }
  std::span<const std::int32_t> list(BlockLists of, std::size_t group) const {
    return at(lists[of.first + group]);
  }
  // Empties all members but keeps the storage of the ranges.
  void clear();
};

// The names of a trace's enum values, each list in the order of its enum. Those that are choices of
// a setting as well are in sessions/scenario/settings_table.h.

// Member of a header's config, and section of the settings.
inline constexpr std::string_view kPoliciesKey = "policies";

inline constexpr std::array<std::string_view, 2> kGroupTypeWords = {"full_attention", "mamba"};
inline constexpr std::array<std::string_view, 6> kMambaTypeWords = {
    "mamba1", "mamba2", "linear_attention", "short_conv", "gdn_attention", "kda"};

// Lays another engine's metadata over ours: fields in the trace replace ours, None included; the
// other fields stay.

// May an engine's block table have so many columns where ours has `ours`? Tables may be padded on
// the right, with the null block; in mode all ours has a column behind max_model_len, which not
// every engine has.
bool is_table_width(std::int64_t columns, std::int64_t ours, MambaCacheMode mode);

// Owns the values that cannot be views into the step: booleans, which the step holds as integers.
class ForeignMetadataOverlay {
 public:
  // Views in `metadata` stay valid until the next call and while the step lives. Errors, with the
  // field's name: a number instead of an array or vice versa, an array whose number of columns
  // differs from the field's (of block tables: is_table_width), a chunk size below 1.
  Status lay_over(const ForeignStep& step, const ForeignMetadata& traced, MambaCacheMode mode,
                  BuilderMetadata& metadata);

  // Did the trace have every field that ours has?
  bool traced_all() const { return left_out_.empty(); }
  // The fields that ours has and the trace has not.
  std::span<const std::string_view> left_out() const { return left_out_; }

 private:
  std::vector<std::vector<std::uint8_t>> flags_;
  std::vector<std::string_view> left_out_;
};

}  // namespace hybridscope
