#include "sessions/judge/header_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "sessions/judge/trace_words.h"
#include "sessions/scenario/release_defaults.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kMaxTokens = 1 << 24;
constexpr std::int64_t kMaxBlockSize = 1 << 24;
constexpr std::int64_t kMaxBlocks = 1 << 22;
constexpr std::int64_t kMaxGroups = 32;
constexpr std::int64_t kMaxSpec = 64;

double fraction_of(const LineValue& value, JsonErrors& errors) {
  double fraction = 0;
  if (value.element.get(fraction) != simdjson::SUCCESS || fraction < 0 || fraction > 1)
    fail_type(value, "a number from 0 to 1", errors);
  return fraction;
}

// The value in the form that Setting::store takes.
std::optional<SettingValue> value_of(const Setting& setting, const LineValue& value,
                                     JsonErrors& errors) {
  if (setting.kind == SettingKind::boolean) return setting_value(boolean_of(value, errors));
  if (setting.kind == SettingKind::fraction) return setting_value(fraction_of(value, errors));
  if (setting.kind == SettingKind::integer_list) {
    std::vector<std::int32_t> list;
    append_integers(value, {setting.min, setting.max}, list, errors);
    return setting_value(std::vector<std::int64_t>(list.begin(), list.end()));
  }
  if (setting.kind == SettingKind::choice)
    return setting_value(static_cast<std::int64_t>(choice_of(value, setting.choices, errors)));
  HS_EXPECT(setting.kind == SettingKind::integer);
  return setting_value(integer_of(value, {setting.min, setting.max}, errors));
}

class ConfigReader {
 public:
  // `header`: with what its engine is.
  ConfigReader(const LineValue& object, const ForeignHeader& header, JsonErrors& errors)
      : object_(object),
        release_(header.release),
        is_unknown_release_(header.is_vllm && !header.release),
        errors_(errors) {}

  EngineConfig read();
  bool use_eagle() const { return use_eagle_; }
  const PolicyOverrides& policies() const { return policies_; }
  bool hits_inside_blocks() const { return hits_inside_blocks_; }
  bool computes_checkpoints() const { return computes_checkpoints_; }
  bool checkpoints_unknown() const { return checkpoints_unknown_; }
  bool retention_unknown() const { return retention_unknown_; }
  bool tells(std::string_view key) const { return find_member(object_, key).has_value(); }
  const std::vector<std::string>& untold() const { return untold_; }

 private:
  void integer(std::string_view key, const IntegerRange& range, std::int32_t& target);
  void required_integer(std::string_view key, const IntegerRange& range, std::int32_t& target);
  void boolean(std::string_view key, bool& target);

  void read_settings(EngineConfig& config);
  void read_policies();
  void check_speculation(EngineConfig& config);
  void check_capture_sizes(const EngineConfig& config);
  void read_batch_order(EngineConfig& config);
  void read_retention_interval(EngineConfig& config);
  void read_groups(EngineConfig& config);
  KVCacheGroup read_group(const LineValue& value, const EngineConfig& config);
  void read_checkpoint_blocks(const LineValue& value, const EngineConfig& config, MambaSpec& spec);
  void compute_checkpoint_blocks(const EngineConfig& config, MambaSpec& spec);
  void read_mamba_spec(const LineValue& value, const EngineConfig& config, KVCacheGroup& group);
  void read_block_sizes(EngineConfig& config);
  std::int32_t common_block_size(const EngineConfig& config);

  const LineValue& object_;
  std::optional<Release> release_;
  bool is_unknown_release_;  // of vLLM
  JsonErrors& errors_;
  PolicyOverrides policies_;
  bool use_eagle_ = false;
  bool hits_inside_blocks_ = false;
  bool computes_checkpoints_ = false;
  bool checkpoints_unknown_ = false;
  bool retention_unknown_ = false;
  std::vector<std::string> untold_;
  bool has_block_size_ = false;
  bool has_method_ = false;
};

void ConfigReader::integer(std::string_view key, const IntegerRange& range, std::int32_t& target) {
  if (const auto member = find_member(object_, key)) target = int32_of(*member, range, errors_);
}

void ConfigReader::required_integer(std::string_view key, const IntegerRange& range,
                                    std::int32_t& target) {
  if (require_member(object_, key, errors_)) integer(key, range, target);
}

void ConfigReader::boolean(std::string_view key, bool& target) {
  if (const auto member = find_member(object_, key)) target = boolean_of(*member, errors_);
}

EngineConfig ConfigReader::read() {
  EngineConfig config;
  config.enable_prefix_caching = false;
  config.cudagraph_mode = CUDAGraphMode::none;
  read_settings(config);
  read_policies();
  required_integer("num_gpu_blocks", {2, kMaxBlocks}, config.kv_cache_config.num_blocks);
  integer("conv_kernel", {2, 8}, config.conv_kernel);
  integer("chunk_size", {1, kMaxTokens}, config.chunk_size);
  boolean("hits_inside_blocks", hits_inside_blocks_);
  check_speculation(config);
  check_capture_sizes(config);
  read_batch_order(config);
  read_retention_interval(config);
  read_groups(config);
  if (!errors_.failed()) read_block_sizes(config);
  if (computes_checkpoints_)
    config.policies.checkpoint_writes =
        release_policies(*release_, config.runner).checkpoint_writes;
  for (const std::string_view key : {"async_scheduling", "runner"})
    if (!tells(key)) untold_.emplace_back(fmt::format("config/{}", key));
  return config;
}

void ConfigReader::read_settings(EngineConfig& config) {
  EngineSettings settings;
  for (const Setting* setting : traced_settings()) {
    const auto member = setting->use.required_in_trace
                            ? require_member(object_, trace_key(*setting), errors_)
                            : find_member(object_, trace_key(*setting));
    if (member) setting->store(settings, *setting, *value_of(*setting, *member, errors_));
  }
  has_block_size_ = settings.block_size.has_value();
  has_method_ = settings.speculative_method.has_value();
  store_in_config(settings, config);
}

void ConfigReader::read_policies() {
  const auto object = find_member(object_, kPoliciesKey);
  if (!object) return;
  EngineSettings settings;
  for_each_member(*object, errors_, [&](const LineValue& value) {
    const Setting* const setting = find_setting(kPoliciesKey, value.key);
    if (setting == nullptr) return fail(value, "there is no such policy", errors_);
    if (const auto read = value_of(*setting, value, errors_))
      setting->store(settings, *setting, *read);
  });
  policies_ = settings.policies;
}

void ConfigReader::check_speculation(EngineConfig& config) {
  const bool speculates = config.num_speculative_tokens > 0;
  if (!has_method_) config.speculative_method = SpeculativeMethod::mtp;
  if (speculates && config.speculative_method == SpeculativeMethod::none)
    fail(*find_member(object_, "speculative_method"),
         fmt::format(
             "expected mtp, ngram or draft_model with num_speculative_tokens {}, found \"none\"",
             config.num_speculative_tokens),
         errors_);
  // The methods differ only in EAGLE's rules.
  use_eagle_ = speculates && config.speculative_method == SpeculativeMethod::mtp;
  boolean("use_eagle", use_eagle_);
  if (!speculates)
    config.speculative_method = SpeculativeMethod::none;
  else if (use_eagle_)
    config.speculative_method = SpeculativeMethod::mtp;
  else if (config.speculative_method == SpeculativeMethod::mtp)
    config.speculative_method = SpeculativeMethod::ngram;
}

void ConfigReader::check_capture_sizes(const EngineConfig& config) {
  if (!std::ranges::is_sorted(config.cudagraph_capture_sizes))
    fail(*find_member(object_, "cudagraph_capture_sizes"), "expected ascending sizes", errors_);
}

void ConfigReader::read_batch_order(EngineConfig& config) {
  const auto threshold = find_member(object_, "reorder_batch_threshold");
  if (!threshold) return;
  if (threshold->element.is_null())
    config.batch_order = BatchOrder::as_condensed;
  else
    fail_type(*threshold, "null (or to leave it out)", errors_);
}

// null: every state is kept. A trace that does not say has the default of its release.
void ConfigReader::read_retention_interval(EngineConfig& config) {
  constexpr std::string_view kKey = "prefix_cache_retention_interval";
  const auto told = find_member(object_, kKey);
  retention_unknown_ = !told && is_unknown_release_;
  if (!told && release_)
    config.prefix_cache_retention_interval =
        default_retention_interval(*release_, config.speculative_method);
  if (told && !told->element.is_null())
    config.prefix_cache_retention_interval = int32_of(*told, {0, kMaxTokens}, errors_);
}

void ConfigReader::read_groups(EngineConfig& config) {
  const auto groups = require_member(object_, "kv_cache_groups", errors_);
  if (!groups || errors_.failed()) return;
  for_each_element(*groups, errors_, [&](const LineValue& group) {
    config.kv_cache_config.groups.push_back(read_group(group, config));
  });
  const auto count = static_cast<std::int64_t>(config.kv_cache_config.groups.size());
  if (count < 1 || count > kMaxGroups)
    fail(*groups, fmt::format("{} groups, expected 1 to {}", count, kMaxGroups), errors_);
  const auto stores = [](const KVCacheGroup& group) {
    const auto* mamba = std::get_if<MambaSpec>(&group.spec);
    return mamba != nullptr && mamba->num_prefill_checkpoint_blocks > 0;
  };
  if (std::ranges::any_of(config.kv_cache_config.groups, stores))
    config.policies.cache.prefill_checkpoint = PrefillCheckpoint::as_states_retained;
}

KVCacheGroup ConfigReader::read_group(const LineValue& value, const EngineConfig& config) {
  KVCacheGroup group;
  const auto type = require_member(value, "type", errors_);
  const auto block_size = require_member(value, "block_size", errors_);
  if (!type || !block_size) return group;
  if (const auto eagle = find_member(value, "is_eagle_group"))
    group.is_eagle_group = boolean_of(*eagle, errors_);
  if (choice_of(*type, kGroupTypeWords, errors_) == 0) {
    group.spec =
        FullAttentionSpec{.block_size = int32_of(*block_size, {1, kMaxBlockSize}, errors_)};
    return group;
  }
  read_mamba_spec(value, config, group);
  return group;
}

void ConfigReader::read_mamba_spec(const LineValue& value, const EngineConfig& config,
                                   KVCacheGroup& group) {
  MambaSpec spec;
  spec.mamba_cache_mode = config.mamba_cache_mode;
  spec.num_speculative_blocks = config.num_speculative_tokens;
  spec.block_size = int32_of(*find_member(value, "block_size"), {1, kMaxBlockSize}, errors_);
  if (config.mamba_cache_mode == MambaCacheMode::none) spec.block_size = config.max_model_len;
  if (const auto type = find_member(value, "mamba_type"))
    spec.mamba_type = static_cast<MambaType>(choice_of(*type, kMambaTypeWords, errors_));
  else if (untold_.empty())
    untold_.emplace_back("config/kv_cache_groups/mamba_type");
  if (const auto blocks = find_member(value, "num_speculative_blocks"))
    spec.num_speculative_blocks = int32_of(*blocks, {0, kMaxSpec}, errors_);
  read_checkpoint_blocks(value, config, spec);
  group.spec = spec;
}

void ConfigReader::read_checkpoint_blocks(const LineValue& value, const EngineConfig& config,
                                          MambaSpec& spec) {
  if (const auto blocks = find_member(value, "num_prefill_checkpoint_blocks"))
    spec.num_prefill_checkpoint_blocks = int32_of(*blocks, {0, 1}, errors_);
  else
    compute_checkpoint_blocks(config, spec);
  if (spec.num_prefill_checkpoint_blocks == 0) return;
  spec.prefill_checkpoint_alignment = 1;
  const auto alignment = find_member(value, "prefill_checkpoint_alignment");
  if (alignment && !alignment->element.is_null())
    spec.prefill_checkpoint_alignment = int32_of(*alignment, {1, kMaxBlockSize}, errors_);
}

// A recorder that knows of hits inside blocks knows of these blocks too, and leaves the member out
// where there are none (semantics: prefill-checkpoint).
void ConfigReader::compute_checkpoint_blocks(const EngineConfig& config, MambaSpec& spec) {
  if (config.mamba_cache_mode != MambaCacheMode::align || tells("hits_inside_blocks")) return;
  if (is_unknown_release_)
    checkpoints_unknown_ = checkpoints_unknown_ || spec.mamba_type == MambaType::mamba2 ||
                           spec.mamba_type == MambaType::gdn_attention;
  if (!release_) return;
  const CheckpointLayers layers = release_policies(*release_, config.runner).checkpoint_layers;
  const bool stores = spec.mamba_type == MambaType::mamba2 && layers != CheckpointLayers::none;
  // Its prefill kernel is not in the header; FlashInfer's needs blocks of whole pieces.
  const bool may_store = spec.mamba_type == MambaType::gdn_attention &&
                         layers == CheckpointLayers::mamba2_and_gdn && spec.block_size % 64 == 0;
  // Where the states of a draft model's blocks lie depends on settings that the header lacks.
  checkpoints_unknown_ = checkpoints_unknown_ || may_store || (stores && use_eagle_);
  if (!stores || use_eagle_) return;
  computes_checkpoints_ = true;
  spec.num_prefill_checkpoint_blocks = 1;
}

void ConfigReader::read_block_sizes(EngineConfig& config) {
  std::int32_t smallest = INT32_MAX;
  config.hash_block_size = 0;
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    smallest = std::min(smallest, group.block_size());
    config.hash_block_size = std::gcd(config.hash_block_size, group.block_size());
  }
  if (!has_block_size_) config.block_size = smallest;
  integer("hash_block_size", {1, kMaxBlockSize}, config.hash_block_size);
  if (find_member(object_, "scheduler_block_size"))
    integer("scheduler_block_size", {1, INT32_MAX}, config.scheduler_block_size);
  else
    config.scheduler_block_size = common_block_size(config);
}

// The least common multiple. Beyond the length of any sequence its exact value does not matter.
std::int32_t ConfigReader::common_block_size(const EngineConfig& config) {
  std::int64_t multiple = 1;
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    multiple = std::lcm(multiple, std::int64_t{group.block_size()});
    if (multiple > INT32_MAX) {
      fail(object_,
           "the least common multiple of the groups' block sizes is above 2147483647 (expected "
           "a scheduler_block_size)",
           errors_);
      return 1;
    }
  }
  return static_cast<std::int32_t>(multiple);
}

// "vllm 0.33.0", as the recorder names an engine, or "vllm 0.33.0+cu130" with the local version
// that wheels for a CUDA version have.
std::optional<Release> release_of_engine(std::string_view engine) {
  constexpr std::string_view kVllm = "vllm ";
  if (!engine.starts_with(kVllm)) return std::nullopt;
  const std::string_view version = engine.substr(kVllm.size());
  return parse_release(version.substr(0, version.find('+')));
}

}  // namespace

ForeignHeader read_header(const LineValue& line, JsonErrors& errors) {
  ForeignHeader header;
  const auto version = find_member(line, kVersionKey);
  const std::int64_t number = version ? integer_of(*version, {1, INT64_MAX}, errors) : 0;
  if (number > kTraceVersion)
    fail(*version, fmt::format("version {}, this program reads version {}", number, kTraceVersion),
         errors);
  if (const auto engine = find_member(line, "engine")) header.engine = string_of(*engine, errors);
  if (const auto name = find_member(line, "name")) header.name = string_of(*name, errors);
  if (const auto config = require_member(line, "config", errors)) {
    header.is_vllm = header.engine.starts_with("vllm");
    header.release = release_of_engine(header.engine);
    ConfigReader reader(*config, header, errors);
    header.config = reader.read();
    header.policies = reader.policies();
    header.use_eagle = reader.use_eagle();
    header.hits_inside_blocks = reader.hits_inside_blocks();
    header.tells_chunk_size = reader.tells("chunk_size");
    header.tells_hash_block_size = reader.tells("hash_block_size");
    header.tells_hits_inside_blocks = reader.tells("hits_inside_blocks");
    header.tells_prefix_caching = reader.tells("enable_prefix_caching");
    header.tells_cudagraph_mode = reader.tells("cudagraph_mode");
    header.computes_checkpoints = reader.computes_checkpoints();
    header.checkpoints_unknown = reader.checkpoints_unknown();
    header.retention_unknown = reader.retention_unknown();
    header.untold = reader.untold();
  }
  return header;
}

}  // namespace hybridscope
