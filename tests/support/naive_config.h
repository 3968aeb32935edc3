// The inputs of the naive engine: its configuration, the safe rules that it follows, its requests.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace hybridscope::test {

enum class NaiveCacheMode { none, align };
enum class NaivePolicy { fcfs, priority };
enum class NaiveRunner { v1, v2 };

// The safe rules, one switch each (semantics: four-conditions). Off means what the reference does.
struct NaiveRules {
  // (1) On: a row is a decode iff its request is past its prompt and exactly one non-draft token is
  // left to compute. Off: iff c >= num_prompt_tokens (V2: tokens known at admission) and q <= 1 +
  // K.
  bool class_by_meaning = true;
  // (2) On: a chunk that does not reach the last known token ends on the block grid, and a chunk
  // that starts off the grid does not cross a boundary. Off: the reference's split (semantics:
  // aligned-split).
  bool chunks_end_on_grid = true;
  // (3) On: only full attention looks one block further and drops it. Off: the reference
  // (semantics: find-longest-cache-hit), with every group an eagle group.
  bool mamba_no_eagle_lookahead = true;
  // On: every attention group's hit is cut to the agreed length. Off: only that of groups with the
  // first spec (semantics: find-longest-cache-hit).
  bool every_attention_group_is_cut = true;
  // (4) On: the accepted count belongs to the request. Off: a request that was not in the previous
  // step's batch starts with count 1 (V1 only: a V2 slot forgets nothing).
  bool count_survives_skipped_step = true;
  // A hit whose mamba block was registered in the same step makes the request wait (known bug 43;
  // the reference waits too).
  bool planned_state_hit_waits = true;
  // The same for an attention block. The reference does not wait: attention layers run in order, so
  // a launch may read keys and values that it writes itself.
  bool planned_attention_hit_waits = true;
  // Blocks that a request registered in the step in which it is preempted lose their hash (known
  // bug 49). Off: they can be hit although they are never written.
  bool withdraw_planned = true;
  // V2: decode rows come before all others. Off: rows are sorted by q alone, and every row after a
  // prefill row runs as a prefill (known bug 12).
  bool decode_rows_first = true;
  // Columns and copies follow the exact count. Off: the reported count (known bug 44).
  bool column_follows_exact_count = true;
  // A returning frame changes nothing for a request that was reset since it was scheduled (known
  // bug 17). Off: its rejections are subtracted from the new run's c, and its tokens are dropped.
  bool stale_frame_changes_nothing = true;
};

struct NaiveConfig {
  NaiveCacheMode mode = NaiveCacheMode::align;  // none: caching off, 1 + K mamba blocks per request
  int block_size = 8;                           // align: B of mamba; cache_config.block_size
  int num_blocks = 64;                          // block 0 is the null block
  // Of the attention groups; empty: one group with block size B.
  std::vector<int> attention_block_sizes;
  int num_mamba_groups = 1;        // G; they come after the attention groups
  int num_speculative_tokens = 0;  // K; align needs K + 1 <= B
  bool use_eagle = false;          // mtp: lookahead K, eagle hit and split rules
  // Sets is_eagle_group flags; else every group is an eagle group.
  bool only_attention_is_eagle = false;
  int conv_width = 4;  // W; conv blocks hold W - 1 + K positions
  int max_model_len = 64;
  int max_num_seqs = 4;
  int max_num_batched_tokens = 64;
  int long_prefill_token_threshold = 0;  // 0: off
  bool full_sequence_must_fit = false;  // admit a request only if all of it fits (reserve_full_isl)
  bool enable_chunked_prefill = true;
  double watermark = 0.0;  // fraction of blocks kept free while other requests run
  NaivePolicy policy = NaivePolicy::fcfs;
  // One frame in flight: a frame returns after the next one was scheduled and run (semantics:
  // frame-phases).
  bool async_scheduling = false;
  NaiveRunner runner = NaiveRunner::v1;
  NaiveRules rules;
  // Content of the output token at index `position` of the request's tokens.
  std::function<std::uint64_t(int request, int position)> output_token;
  // Accepted count (bonus token included, 1..d + 1) of a row that starts at exact c with d drafts.
  std::function<int(int request, int c, int d)> num_accepted;
  // Length of the draft list after a step that ended with `position` known tokens (0..K).
  // Synchronous only: asynchronous scheduling always uses K placeholders.
  std::function<int(int request, int position)> num_drafts;

  int num_attention_groups() const {
    return attention_block_sizes.empty() ? 1 : static_cast<int>(attention_block_sizes.size());
  }
  int num_groups() const { return num_attention_groups() + num_mamba_groups; }
  bool is_eagle(int group) const {
    return use_eagle && (is_attention(group) || !only_attention_is_eagle);
  }
  bool is_attention(int group) const { return group < num_attention_groups(); }
  int group_block_size(int group) const {
    if (!is_attention(group)) return mode == NaiveCacheMode::align ? block_size : max_model_len;
    if (attention_block_sizes.empty()) return block_size;
    return attention_block_sizes.at(static_cast<std::size_t>(group));
  }
  // Mode align: a hit of all groups ends on a multiple of it.
  int scheduler_block_size() const {
    int size = block_size;
    for (const int other : attention_block_sizes) size = std::lcm(size, other);
    return size;
  }
};

struct NaiveRequestSpec {
  std::vector<std::uint64_t> prompt;  // token contents, at least one
  int max_tokens = 1;                 // output tokens after which the request ends
  int priority = 0;                   // smaller is more important
  std::int64_t arrival = 0;           // on ties: order of addition
  std::uint64_t cache_salt = 0;       // unequal salts never share
};

}  // namespace hybridscope::test
