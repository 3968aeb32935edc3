#include "sessions/scenario/settings_table.h"

#include <algorithm>

#include "core/engine/policy_table.h"
#include "sessions/scenario/setting_rows.h"

namespace hybridscope {
namespace {

using namespace setting_rows;
using S = EngineSettings;
using C = EngineConfig;

constexpr std::int64_t kMaxInt64 = 9'223'372'036'854'775'807;
constexpr std::int64_t kMaxTokens = 1 << 24;

constexpr std::array<std::string_view, 4> kDtypes = {"auto", "float16", "bfloat16", "float32"};
constexpr std::array<std::string_view, 6> kKVCacheDtypes = {"auto", "float16",  "bfloat16",
                                                            "fp8",  "fp8_e4m3", "fp8_e5m2"};
constexpr std::array<std::string_view, 2> kLayouts = {"SD", "DS"};
constexpr std::array<std::string_view, 2> kSchedulingPolicies = {"fcfs", "priority"};
constexpr std::array<std::string_view, 2> kRunners = {"v1", "v2"};
constexpr std::array<std::string_view, 4> kBackends = {"flash_attn_3", "flash_attn_2", "triton",
                                                       "flex"};

constexpr std::array<std::string_view, 2> kGdnPrefillBackends = {"triton", "flashinfer"};

constexpr std::array<std::string_view, 2> kEntryPoints = {"serve", "llm"};

constexpr auto kGpuNames = [] {
  std::array<std::string_view, kGpus.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kGpus[i].name;
  return names;
}();

// Choices are in the order of their enums.
constexpr std::array kSettings = {
    choice<&S::mamba_cache_mode, &C::mamba_cache_mode>(
        {"", "mamba_cache_mode", kCacheModeWords,
         "all if the model has it, else align; none without prefix caching",
         "where recurrent states are kept for reuse"},
        {.started_place = 1, .trace_place = 1, .required_in_trace = true}),
    integer<&S::tensor_parallel_size>(
        {"", "tensor_parallel_size", 1, 1024, "1", "ranks that share each layer"},
        {.vllm_flag = true}),
    integer<&S::pipeline_parallel_size>({"", "pipeline_parallel_size", 1, 1, "1",
                                         "stages of layers; more than one is not modelled"},
                                        {.vllm_flag = true}),
    byte_size<&S::kv_cache_memory_bytes>({"", "kv_cache_memory_bytes", 1, kMaxInt64,
                                          "60GiB (at most 1048576 blocks)",
                                          "memory of the block pool on one rank"}),
    byte_size<&S::gpu_memory_bytes>(
        {"", "gpu_memory_bytes", 1, kMaxInt64, "not used",
         "memory of one GPU; gives the pool's, in place of kv_cache_memory_bytes"}),
    fraction<&S::gpu_memory_utilization>(
        {"", "gpu_memory_utilization", "0.92", "share of gpu_memory_bytes that the engine may use"},
        {.vllm_flag = true}),
    byte_size<&S::weights_memory_bytes>(
        {"", "weights_memory_bytes", 0, kMaxInt64, "required with gpu_memory_bytes",
         "what the weights take of it on one rank (vLLM logs it: Model loading took)"}),
    byte_size<&S::activation_memory_bytes>(
        {"", "activation_memory_bytes", 0, kMaxInt64, "0",
         "what else takes of it: activations at their peak, CUDA graphs; it is not modelled"}),
    integer<&S::num_gpu_blocks_override>(
        {"", "num_gpu_blocks_override", 2, 1 << 28, "from kv_cache_memory_bytes",
         "blocks in the pool, the null block included"},
        {.started_place = 3}),
    integer<&S::block_size, &C::block_size>(
        {"", "block_size", 1, 1 << 20, "from the model's page size",
         "tokens in an attention block"},
        {.started_place = 2, .trace_place = 3}),
    integer<&S::mamba_block_size>({"", "mamba_block_size", 1, 1 << 20, "from block_size",
                                   "tokens between two stored states in mode all"},
                                  {.vllm_flag = true}),
    integer<&S::max_model_len, &C::max_model_len>(
        {"", "max_model_len", 2, kMaxTokens, "the model's", "longest sequence in tokens"},
        {.started_place = 4, .trace_place = 11, .required_in_trace = true}),
    choice<&S::kv_cache_dtype>({"", "kv_cache_dtype", kKVCacheDtypes, "auto (the model's)",
                                "dtype of attention's keys and values; fp8 takes one byte"},
                               {.vllm_flag = true}),
    choice<&S::mamba_cache_dtype>(
        {"", "mamba_cache_dtype", kDtypes, "auto", "dtype of conv states"}, {.vllm_flag = true}),
    choice<&S::mamba_ssm_cache_dtype>(
        {"", "mamba_ssm_cache_dtype", kDtypes, "auto", "dtype of recurrent states"},
        {.vllm_flag = true}),
    choice<&S::ssm_conv_state_layout>(
        {"", "ssm_conv_state_layout", kLayouts, "SD", "order of a conv state's dimensions"}),
    integer<&S::max_num_seqs, &C::max_num_seqs>(
        {"", "max_num_seqs", 1, 65536, "256, at most the blocks in the pool",
         "requests that run together"},
        {.started_place = 5, .trace_place = 12, .required_in_trace = true}),
    integer<&S::max_num_batched_tokens, &C::max_num_batched_tokens>(
        {"", "max_num_batched_tokens", 1, kMaxTokens, "8192", "tokens of one step"},
        {.started_place = 6, .trace_place = 13, .required_in_trace = true}),
    integer<&S::long_prefill_token_threshold, &C::long_prefill_token_threshold>(
        {"", "long_prefill_token_threshold", 0, kMaxTokens, "0 (off)",
         "most tokens that one request gets in a step"},
        {.vllm_flag = true, .trace_place = 16}),
    boolean<&S::enable_chunked_prefill, &C::enable_chunked_prefill>(
        {"", "enable_chunked_prefill", "true", "whether a prompt may be split over several steps"},
        {.vllm_flag = true, .trace_place = 15}),
    boolean<&S::enable_prefix_caching, &C::enable_prefix_caching>(
        {"", "enable_prefix_caching", "true; false in mode none",
         "whether later requests reuse computed blocks"},
        {.started_place = 7, .trace_place = 6}),
    or_none(integer<&S::prefix_cache_retention_interval, &C::prefix_cache_retention_interval>(
        {"", "prefix_cache_retention_interval", 0, kMaxTokens,
         "None; the release's with its profile",
         "tokens between two states that stay cached; 0: only states where hits end; None: every "
         "state is kept"},
        {.vllm_flag = true})),
    integer<&S::prefix_match_unit>(
        {"", "prefix_match_unit", 1, 1 << 20, "the groups' greatest common block size",
         "tokens that a block hash covers; hits can end there with policy hits_inside_blocks"},
        {.vllm_flag = true}),
    boolean<&S::disable_eagle_block_drop, &C::disable_eagle_block_drop>(
        {"", "disable_eagle_block_drop", "false",
         "method mtp: keep the last block of a hit instead of computing it again"},
        {.vllm_flag = true}),
    boolean<&S::disable_lookahead_block_hashes, &C::disable_lookahead_block_hashes>(
        {"", "disable_lookahead_block_hashes", "false",
         "method mtp: block hashes cover their block alone, with policy eagle_proof"},
        {.vllm_flag = true}),
    boolean<&S::enable_mamba_shared_prefix_checkpoint, &C::enable_mamba_shared_prefix_checkpoint>(
        {"", "enable_mamba_shared_prefix_checkpoint", "false",
         "hits inside blocks, method mtp: register the end of a shared prefix exactly"},
        {.vllm_flag = true}),
    choice<&S::scheduling_policy, &C::scheduling_policy>(
        {"", "scheduling_policy", kSchedulingPolicies, "fcfs",
         "who runs first and who is preempted"},
        {.vllm_flag = true, .trace_place = 14}),
    fraction<&S::watermark, &C::watermark>(
        {"", "watermark", "0", "fraction of the blocks kept free when a request is admitted"},
        {.vllm_flag = true, .trace_place = 18}),
    boolean<&S::scheduler_reserve_full_isl, &C::scheduler_reserve_full_isl>(
        {"", "scheduler_reserve_full_isl", "true", "admit a request only if its whole prompt fits"},
        {.vllm_flag = true, .trace_place = 17}),
    boolean<&S::async_scheduling, &C::async_scheduling>(
        {"", "async_scheduling", "true; false with draft_model, and with ngram on runner v1",
         "whether a step is scheduled while the previous one is in flight"},
        {.started_place = 8, .trace_place = 19}),
    boolean<&S::kv_consumer, &C::kv_consumer>(
        {"", "kv_consumer", "false",
         "whether a KV connector writes blocks outside the stream of the frames"},
        {.trace_place = 24}),
    integer<&S::data_parallel_size, &C::data_parallel_size>(
        {"", "data_parallel_size", 1, 1024, "1",
         "data-parallel ranks in lockstep; with more than one, a step that schedules nothing is a "
         "dummy run"},
        {.vllm_flag = true}),
    choice<&S::runner, &C::runner>(
        {"", "runner", kRunners, "v1, the reference's choice for every hybrid model",
         "model runner: v1 keeps a persistent batch of rows, v2 one slot per request"},
        {.trace_place = 20}),
    choice<&S::attention_backend, &C::attention_backend>(
        {"", "attention_backend", kBackends, "flash_attn_3",
         "backend whose metadata builder limits full graphs"}),
    choice<&S::gpu>({"", "gpu", kGpuNames, "h100",
                     "GPU for which the profile of a release chooses what is not set"}),
    choice<&S::entry_point>({"", "entry_point", kEntryPoints, "serve",
                             "vllm serve or the class LLM, whose releases' defaults differ"}),
    choice<&S::gdn_prefill_backend>(
        {"", "gdn_prefill_backend", kGdnPrefillBackends,
         "triton; with the profile of a release and a model from a config.json the GPU's",
         "prefill kernel of GatedDeltaNet; FlashInfer's can store states inside a prefill"},
        {.vllm_flag = true}),
    choice<&S::speculative_method, &C::speculative_method>(
        {"speculative_config", "method", kSpeculativeMethodWords,
         "mtp if num_speculative_tokens is set, else none", "who drafts tokens"},
        {.trace_place = 8, .trace_name = "speculative_method"}),
    integer<&S::num_speculative_tokens, &C::num_speculative_tokens>(
        {"speculative_config", "num_speculative_tokens", 0, 64, "0",
         "draft tokens per request and step (K)"},
        {.trace_place = 7}),
    fraction<&S::acceptance_rate, &C::acceptance_rate>(
        {"", "acceptance_rate", "0.7",
         "chance that a draft is accepted if all drafts before it were"}),
    integer<&S::seed, &C::seed>(
        {"", "seed", 0, kMaxInt64, "0", "seed of all random draws and generated tokens"}),
    integer<&S::optimization_level>({"", "optimization_level", 0, 3, "2",
                                     "default graph mode: NONE, PIECEWISE, FULL_AND_PIECEWISE"},
                                    {.vllm_flag = true}),
    choice<&S::cudagraph_mode, &C::cudagraph_mode>(
        {"", "cudagraph_mode", kCudagraphModeWords, "FULL_AND_PIECEWISE, from optimization_level",
         "which batches replay a graph"},
        {.trace_place = 21}),
    integer_list<&S::cudagraph_capture_sizes, &C::cudagraph_capture_sizes>(
        {"", "cudagraph_capture_sizes", 1, 1 << 20, "vLLM's list",
         "token counts of the captured graphs"},
        {.vllm_flag = true, .trace_place = 23}),
    integer<&S::max_cudagraph_capture_size, &C::max_cudagraph_capture_size>(
        {"", "max_cudagraph_capture_size", 1, 1 << 20, "2 * (1 + K) * max_num_seqs, at most 512",
         "largest size of vLLM's list in tokens"},
        {.vllm_flag = true}),
    integer<&S::state_layers>({"", "state_layers", 1, 65536, "all",
                               "layers of each recurrent group whose state a run in bytes keeps"}),
    integer<&S::step_cost_base_us, &C::step_cost_base_us>(
        {"step_cost", "base_us", 0, 1'000'000'000, "20000",
         "simulated time of a step, in microseconds"}),
    integer<&S::step_cost_per_token_us, &C::step_cost_per_token_us>(
        {"step_cost", "per_token_us", 0, 1'000'000, "30",
         "simulated time per scheduled token, in microseconds"}),
    engine_profile({"", "engine", "safe",
                    "profile: safe never corrupts state, reference does what the reference does, "
                    "vllm-RELEASE does what that release does and has its defaults "
                    "(docs/differences.md), vllm@DATE is safe with the known bugs of that day"}),
};

// The policies come last.
std::vector<Setting> make_table() {
  std::vector<Setting> table(kSettings.begin(), kSettings.end());
  for (const Policy& one : policy_table()) table.push_back(policy(one));
  return table;
}
// Made before main: no other file asks for it while it makes objects of its own.
const std::vector<Setting> kSettingsAndPolicies = make_table();

std::vector<const Setting*> in_place_order(std::uint8_t SettingUse::*place) {
  std::vector<const Setting*> settings;
  for (const Setting& setting : kSettingsAndPolicies)
    if (setting.use.*place > 0) settings.push_back(&setting);
  std::ranges::sort(settings, {}, [place](const Setting* setting) { return setting->use.*place; });
  return settings;
}

}  // namespace

std::span<const Setting> settings_table() { return kSettingsAndPolicies; }

std::vector<const Setting*> started_settings() {
  return in_place_order(&SettingUse::started_place);
}

std::vector<const Setting*> traced_settings() { return in_place_order(&SettingUse::trace_place); }

std::string_view trace_key(const Setting& setting) {
  return setting.use.trace_name.empty() ? setting.name : setting.use.trace_name;
}

const Setting* find_setting(std::string_view section, std::string_view name) {
  for (const Setting& setting : kSettingsAndPolicies)
    if (setting.section == section && setting.name == name) return &setting;
  return nullptr;
}

void store_in_config(const EngineSettings& settings, EngineConfig& config) {
  for (const Setting& setting : kSettingsAndPolicies)
    if (setting.to_config != nullptr) setting.to_config(settings, config);
}

EngineSettings settings_of(const EngineConfig& config) {
  EngineSettings settings;
  for (const Setting& setting : kSettingsAndPolicies)
    if (setting.from_config != nullptr) setting.from_config(config, settings);
  settings.num_gpu_blocks_override = config.kv_cache_config.num_blocks;
  if (config.policies == safe_policies()) settings.engine = EngineProfile::safe;
  if (config.policies == reference_policies()) settings.engine = EngineProfile::reference;
  settings.policies = overrides_of(config.policies);
  return settings;
}

}  // namespace hybridscope
