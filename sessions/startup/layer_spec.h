// What every layer of a model caches in a start: block size, pages, states.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/kv_cache_spec.h"
#include "sessions/startup/cached_layers.h"
#include "sessions/startup/startup_settings.h"

namespace hybridscope {

enum class SpecKind : std::uint8_t {
  full,
  mla,
  sliding_window,
  chunked_local,
  circular_buffer,
  mamba
};

std::string_view spec_kind_name(SpecKind kind);

// One layer's KVCacheSpec (vLLM v1/kv_cache_interface.py). Equal specs can share a group.
struct LayerSpec {
  SpecKind kind = SpecKind::full;
  std::int64_t block_size = 16;      // tokens
  std::int64_t page_size_bytes = 0;  // of a block in the layer, padding included
  std::int64_t unpadded_page_bytes = 0;
  std::int64_t num_kv_heads = 0;  // of one rank; 0: a recurrent layer
  std::int64_t head_size = 0;
  std::int64_t head_size_v = 0;
  std::int64_t element_size = 0;  // bytes
  std::int64_t window = 0;        // sliding_window, attention_chunk_size
  std::vector<StateTensorSpec> states = {};
  MambaType mamba_type = MambaType::mamba2;
  bool is_ple = false;  // a PLE short convolution, the same on all ranks
  std::int64_t num_speculative_blocks = 0;
  std::int64_t num_prefill_checkpoint_blocks = 0;
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

// What is settled before layers have specs.
struct StartupConfig {
  std::int64_t max_model_len = 0;
  bool fits_max_model_len = false;  // the longest that fits is wanted (max_model_len -1)
  std::int64_t max_num_seqs = 0;
  std::int64_t max_num_batched_tokens = 0;
  std::int64_t max_in_flight_tokens = 0;  // of all batches that run at once; from 0.28.0 on
  bool enable_prefix_caching = false;
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  std::string mamba_ssm_cache_dtype = "auto";
};

struct SpecifiedModel {
  std::int64_t block_size = 16;        // cache_config.block_size
  std::int64_t kernel_alignment = 16;  // tokens: what the attention kernels want of a block
  std::int64_t mamba_block_size = 0;   // 0: no recurrent layer
  std::int64_t mamba_page_bytes = 0;   // padded; 0: nothing was padded
  std::vector<LayerSpec> specs = {};   // one for each of StartupModel::layers
};

// The flags' values, and the release's defaults where there are none.
StartupConfig startup_config(const StartupModel& model, const StartupSettings& settings,
                             std::vector<std::string>& lines);

// Specs of all layers (vLLM platforms/interface.py, update_block_size_for_backend; the layers'
// get_kv_cache_spec), and the lines that are logged. Error: what the release refuses, in its words.
Result<SpecifiedModel> specify_layers(const StartupModel& model, const StartupSettings& settings,
                                      const StartupConfig& config, std::vector<std::string>& lines);

}  // namespace hybridscope
