// Every setting a user can give, under vLLM's names; an empty optional is a setting left alone,
// whose default is in the table (sessions/scenario/settings_table.h) or follows from the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine_config.h"
#include "core/engine/policies.h"
#include "core/metadata/attention_backend.h"
#include "core/metadata/cudagraph_mode.h"
#include "core/model/conv_state_layout.h"
#include "core/model/kv_cache_spec.h"
#include "sessions/scenario/engine_profile.h"

namespace hybridscope {

// Names of dtypes as vLLM's cache settings spell them; automatic is "auto".
enum class CacheDtypeName : std::uint8_t { automatic, float16, bfloat16, float32 };

// Single policies set against the profile.
struct PolicyOverrides {
  std::optional<MambaEagleLookahead> mamba_eagle_lookahead = {};
  std::optional<FullAttentionCut> full_attention_cut = {};
  std::optional<BlockRegistration> block_registration = {};
  std::optional<AlignedSplit> aligned_split = {};
  std::optional<RowClassing> row_classing = {};
  std::optional<AcceptedCountOwner> accepted_count_owner = {};
  std::optional<OneTokenPrompt> one_token_prompt = {};
  std::optional<NoDraftStep> no_draft_step = {};
  std::optional<UniformDecodeTest> uniform_decode_test = {};
  std::optional<AllModeSpeculation> all_mode_speculation = {};
  std::optional<StaleFrame> stale_frame = {};
  std::optional<AcceptedCountLanding> accepted_count_landing = {};
  std::optional<DeferredFreeRefusal> deferred_free_refusal = {};
  std::optional<RowOrder> row_order = {};
  std::optional<InitialStateColumn> initial_state_column = {};
  std::optional<SlotCountReset> slot_count_reset = {};
  std::optional<ResumedStateColumn> resumed_state_column = {};
  std::optional<PostCopyBlockTable> post_copy_block_table = {};
  std::optional<BackwardPostCopy> backward_post_copy = {};
  std::optional<AcceptedCountReset> accepted_count_reset = {};
  std::optional<PaddedPromptToken> padded_prompt_token = {};
  std::optional<ReturningDrafts> returning_drafts = {};
  std::optional<AcceptedCountRead> accepted_count_read = {};
  std::optional<RunningColumn> running_column = {};
  std::optional<GdnTokenPartition> gdn_token_partition = {};
  std::optional<GdnGates> gdn_gates = {};
  std::optional<ConvRoll> conv_roll = {};
  std::optional<NullRows> null_rows = {};
  std::optional<SameBlockShift> same_block_shift = {};
  std::optional<PaddingPrefilling> padding_prefilling = {};
  std::optional<ReusedMetadata> reused_metadata = {};
  std::optional<DummyRunTables> dummy_run_tables = {};
  friend bool operator==(const PolicyOverrides&, const PolicyOverrides&) = default;
};

struct EngineSettings {
  // Memory.
  std::optional<MambaCacheMode> mamba_cache_mode = {};
  std::optional<std::int32_t> tensor_parallel_size = {};
  std::optional<std::int64_t> kv_cache_memory_bytes = {};
  std::optional<std::int32_t> num_gpu_blocks_override = {};
  std::optional<std::int32_t> block_size = {};        // tokens
  std::optional<std::int32_t> mamba_block_size = {};  // tokens; asked for in mode all only
  std::optional<std::int32_t> max_model_len = {};     // tokens
  std::optional<CacheDtypeName> mamba_cache_dtype = {};
  std::optional<CacheDtypeName> mamba_ssm_cache_dtype = {};
  std::optional<ConvStateLayout> ssm_conv_state_layout = {};

  // Scheduler.
  std::optional<std::int32_t> max_num_seqs = {};
  std::optional<std::int32_t> max_num_batched_tokens = {};
  std::optional<std::int32_t> long_prefill_token_threshold = {};
  std::optional<bool> enable_chunked_prefill = {};
  std::optional<bool> enable_prefix_caching = {};
  std::optional<SchedulingPolicy> scheduling_policy = {};
  std::optional<double> watermark = {};
  std::optional<bool> scheduler_reserve_full_isl = {};
  std::optional<bool> async_scheduling = {};
  std::optional<bool> kv_consumer = {};
  std::optional<std::int32_t> data_parallel_size = {};

  // Worker.
  std::optional<ModelRunner> runner = {};
  std::optional<AttentionBackend> attention_backend = {};

  // Speculation.
  std::optional<SpeculativeMethod> speculative_method = {};  // unset with K > 0: mtp
  std::optional<std::int32_t> num_speculative_tokens = {};   // K
  std::optional<double> acceptance_rate = {};
  std::optional<std::int64_t> seed = {};

  // CUDA graphs.
  std::optional<OptimizationLevel> optimization_level = {};
  std::optional<CUDAGraphMode> cudagraph_mode = {};
  std::optional<std::vector<std::int32_t>> cudagraph_capture_sizes = {};  // tokens
  std::optional<std::int32_t> max_cudagraph_capture_size = {};            // tokens

  // Layers of each recurrent group whose state is kept in bytes; none given: all. Says nothing of
  // the engine.
  std::optional<std::int32_t> state_layers = {};

  // Simulated time of a step, microseconds.
  std::optional<std::int64_t> step_cost_base_us = {};
  std::optional<std::int64_t> step_cost_per_token_us = {};

  std::optional<EngineProfile> engine = {};
  PolicyOverrides policies;
  friend bool operator==(const EngineSettings&, const EngineSettings&) = default;
};

// The profile's policies (safe unless set) with the overrides on top.
Policies resolve_policies(const EngineSettings& settings);

// Every policy, set one by one.
PolicyOverrides overrides_of(const Policies& policies);

// The profile's name where no single policy changes it; else "safe" or "pages" where all policies
// are theirs, and "mixed".
std::string profile_name(const EngineSettings& settings);

// K: 0 unless set.
std::int32_t resolved_num_speculative_tokens(const EngineSettings& settings);

// The method: none without K, mtp when only K is set.
SpeculativeMethod resolved_speculative_method(const EngineSettings& settings);

// Why scheduling is asynchronous or not.
enum class AsyncReason : std::uint8_t {
  requested,            // the user's choice stands
  supported,            // the default, nothing speaks against it
  method_not_supported  // the method drafts on the host from tokens that have returned
};

struct AsyncChoice {
  bool async_scheduling = false;
  AsyncReason reason = AsyncReason::supported;
  friend bool operator==(const AsyncChoice&, const AsyncChoice&) = default;
};

// Unless set: on, but for the methods that asynchronous scheduling does not support
// (semantics: async-scheduling-default).
AsyncChoice resolved_async_scheduling(const EngineSettings& settings);

// Unless set: V1, as the reference takes for every hybrid model; its V2 list has architectures with
// attention layers only.
ModelRunner resolved_runner(const EngineSettings& settings);

// O2 unless set.
OptimizationLevel resolved_optimization_level(const EngineSettings& settings);

// Two settings that are fine alone and impossible together.
struct SettingConflict {
  std::string setting;  // path as setting_path gives it: "max_num_seqs", "step_cost/base_us"
  std::string message;  // starts with the setting's name; has the numbers
};

// What can be told without the model: a method without K or K without a method, a method that
// asynchronous scheduling or the runner does not know, K+1 above block_size, no capture size,
// limits of mode align, a threshold that no request can use. Rules: K + 1 <= B and the limits of
// align (semantics: cache-mode-limits), the threshold (semantics: padded-prompt), V2 without ngram
// and asynchronous scheduling (semantics: async-scheduling-default).
std::optional<SettingConflict> find_setting_conflict(const EngineSettings& settings);

}  // namespace hybridscope
