#include "sessions/scenario/not_modelled.h"

#include <array>

namespace hybridscope {
namespace {

struct ValueNotModelled {
  std::string_view path;   // of the setting
  std::string_view value;  // empty: every value that is not allowed
  std::string_view why;    // and what to do
};

constexpr std::string_view kOtherDraftModel =
    "the draft model's own layers are in no group; method mtp drafts, drops blocks of hits and "
    "schedules by the same rules";
constexpr std::string_view kBlockDrafter =
    "the draft model's own layers are in no group; method mtp is the nearest, but dflash has one "
    "look-ahead slot more, and from 0.33.0 on neither dflash nor dspark drops a block of a hit";
constexpr std::string_view kOtherCacheDtype =
    "values of other sizes and scales lie beside the keys; fp8 has one byte an element";

constexpr std::string_view kOtherDrafter =
    "its own weights are in no group; method draft_model drafts K tokens a step and keeps hits "
    "whole too";
constexpr std::string_view kOtherName = "vLLM runs it as method mtp: set mtp";

constexpr std::array kValuesNotModelled = {
    ValueNotModelled{
        "pipeline_parallel_size", "",
        "each stage has its own layers, blocks and frames in flight; set 1, and describe "
        "the layers of one stage in a config.json to see its pages and blocks"},
    ValueNotModelled{"speculative_config/method", "eagle", kOtherDraftModel},
    ValueNotModelled{"speculative_config/method", "eagle3", kOtherDraftModel},
    ValueNotModelled{"speculative_config/method", "dflash", kBlockDrafter},
    ValueNotModelled{"speculative_config/method", "dspark", kBlockDrafter},
    ValueNotModelled{"speculative_config/method", "medusa", kOtherDrafter},
    ValueNotModelled{"speculative_config/method", "mlp_speculator", kOtherDrafter},
    ValueNotModelled{"speculative_config/method", "ngram_gpu",
                     "on runner V2 it is method ngram (from 0.32.0 on); on V1 it drafts on the "
                     "device, and ngram "
                     "0 to K tokens a step on the host"},
    ValueNotModelled{"speculative_config/method", "suffix",
                     "method ngram on runner V1 drafts 0 to K tokens a step too"},
    ValueNotModelled{"kv_cache_dtype", "fp8_inc", kOtherCacheDtype},
    ValueNotModelled{"kv_cache_dtype", "fp8_ds_mla", kOtherCacheDtype},
    ValueNotModelled{"kv_cache_dtype", "nvfp4", kOtherCacheDtype},
    ValueNotModelled{"kv_cache_dtype", "int4_per_token_head", kOtherCacheDtype},
    ValueNotModelled{"kv_cache_dtype", "int8_per_token_head", kOtherCacheDtype},
    ValueNotModelled{"kv_cache_dtype", "fp8_per_token_head", kOtherCacheDtype},
};

constexpr std::string_view kWeights =
    "it changes what the weights take of the memory: give weights_memory_bytes";

constexpr std::array kSettingsNotModelled = {
    SettingNotModelled{"", "enforce_eager", "without graphs is cudagraph_mode NONE"},
    SettingNotModelled{"", "compilation_config",
                       "give its cudagraph_mode and cudagraph_capture_sizes as settings"},
    SettingNotModelled{"", "quantization", kWeights},
    SettingNotModelled{"", "cpu_offload_gb", kWeights},
    SettingNotModelled{"", "enable_expert_parallel", kWeights},
    SettingNotModelled{"", "swap_space",
                       "a request that is preempted is computed again, nothing is swapped"},
    SettingNotModelled{"speculative_config", "model",
                       "the draft model's layers are in no group: leave its name out"},
    SettingNotModelled{"speculative_config", "draft_tensor_parallel_size",
                       "the draft model's layers are in no group: leave it out"},
};

}  // namespace

std::string_view why_value_not_modelled(std::string_view path, std::string_view value) {
  for (const ValueNotModelled& row : kValuesNotModelled)
    if (row.path == path && (row.value.empty() || row.value == value)) return row.why;
  if (path == "speculative_config/method" && value.ends_with("_mtp")) return kOtherName;
  return {};
}

std::span<const SettingNotModelled> settings_not_modelled() { return kSettingsNotModelled; }

std::string_view why_setting_not_modelled(std::string_view section, std::string_view name) {
  for (const SettingNotModelled& row : kSettingsNotModelled)
    if (row.section == section && row.name == name) return row.why;
  return {};
}

}  // namespace hybridscope
