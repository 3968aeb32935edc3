// What the start-up log of a server tells: release, model and arguments, memory, and the lines
// about sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/startup/log_text.h"
#include "sessions/startup/startup_settings.h"

namespace hybridscope {

// The lines about sizes, of a log or of a plan (StartupPlan::lines and its refusal).
struct LoggedSizes {
  std::string cache_mode = {};                         // "align"
  std::string ssm_cache_dtype = {};                    // "float32"
  std::optional<std::int64_t> kernel_block_size = {};  // that attention backends ask for
  std::optional<std::int64_t> block_size = {};
  std::string page_padding = {};                   // percent: "2.64"
  std::string padding_layers = {};                 // "3 (6.25 %)", several joined with ", "
  std::optional<std::int64_t> fitted_length = {};  // that vLLM chose by itself
  std::optional<std::int64_t> overridden_blocks = {};
  std::optional<std::int64_t> tokens = {};
  std::optional<std::int64_t> length = {};  // that the concurrency is for
  std::string concurrency = {};             // "22.08"
  // Refusals.
  std::optional<std::int64_t> refused_length = {};
  std::string needed_gib = {};  // for one request of that length
  std::string usable_gib = {};  // that there are fewer of
  std::optional<std::int64_t> longest = {};
  std::optional<std::int64_t> refused_seqs = {};
  std::optional<std::int64_t> state_blocks = {};
  std::optional<std::int64_t> refused_block = {};  // above max_num_batched_tokens
};

LoggedSizes read_sizes(const LogText& log);

// Bytes, from GiB that were rounded to two digits.
struct MemoryInterval {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

struct StartupLog {
  std::string version = {};  // as logged: "0.28.0", "0.28.1rc1.dev5+g0a1b2c3"; empty: not told
  std::string model = {};    // as given; empty: not told
  std::vector<std::string> names = {};  // --served-model-name
  // `vllm serve MODEL --flag ..` with the same arguments; empty: the log tells none.
  std::string serve_line = {};
  std::vector<std::string> notes = {};  // what of them could not be read
  EntryPoint entry_point = EntryPoint::serve;
  std::string architecture = {};
  const Gpu* gpu = nullptr;                             // null: not told
  double gpu_memory_gib = 0;                            // 0: not told
  std::optional<std::int32_t> compute_capability = {};  // 90 is 9.0
  std::optional<std::int64_t> max_model_len = {};
  std::optional<std::int64_t> max_num_batched_tokens = {};
  std::optional<bool> prefix_caching = {};
  std::optional<GdnPrefillBackend> gdn_prefill_backend = {};
  bool enforce_eager = false;
  std::optional<MemoryInterval> memory = {};         // for the cache
  std::optional<MemoryInterval> usable_memory = {};  // of a refusal: as vLLM compares it
  std::optional<std::int64_t> num_blocks = {};
  bool has_started = false;
  LoggedSizes sizes = {};
};

// Never fails: what is not there is not told. Of several starts the last one that tells sizes.
StartupLog parse_startup_log(std::string_view text);

// The release that a log's version is planned as: itself, or the nearest.
Release nearest_release(std::string_view version);

}  // namespace hybridscope
