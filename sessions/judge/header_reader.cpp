#include "sessions/judge/step_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/caching/manager_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/model/model_policies.h"
#include "sessions/judge/foreign_trace.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kMaxTokens = 1 << 24;
constexpr std::int64_t kMaxBlockSize = 1 << 24;
constexpr std::int64_t kMaxBlocks = 1 << 22;
constexpr std::int64_t kMaxGroups = 32;
constexpr std::int64_t kMaxSpec = 64;

// The value in the form that Setting::store takes.
std::optional<SettingValue> value_of(const Setting& setting, const JsonValue& value) {
  if (setting.kind == SettingKind::boolean) return setting_value(value.boolean());
  if (setting.kind == SettingKind::fraction) return setting_value(value.number(0, 1));
  if (setting.kind == SettingKind::integer_list) {
    std::vector<std::int32_t> list;
    value.append_int32s({setting.min, setting.max}, list);
    return setting_value(std::vector<std::int64_t>(list.begin(), list.end()));
  }
  if (setting.kind == SettingKind::choice)
    return setting_value(static_cast<std::int64_t>(value.choice(setting.choices)));
  HS_EXPECT(setting.kind == SettingKind::integer);
  return setting_value(value.int64({setting.min, setting.max}));
}

class ConfigReader {
 public:
  // Reads into `header`, which says already what its engine is.
  ConfigReader(const JsonValue& object, ForeignHeader& header)
      : object_(object),
        header_(header),
        release_(header.release),
        is_unknown_release_(header.is_vllm && !header.release) {}

  void read() {
    EngineConfig& config = header_.config;
    config.enable_prefix_caching = false;
    config.cudagraph_mode = CUDAGraphMode::none;
    read_settings(config);
    read_policies();
    config.kv_cache_config.num_blocks = object_.require("num_gpu_blocks").int32({2, kMaxBlocks});
    integer("conv_kernel", {2, 8}, config.conv_kernel);
    integer("chunk_size", {1, kMaxTokens}, config.chunk_size);
    boolean("hits_inside_blocks", header_.hits_inside_blocks);
    check_speculation(config);
    check_capture_sizes(config);
    read_batch_order(config);
    read_retention_interval(config);
    read_groups(config);
    read_block_sizes(config);
    if (header_.computes_checkpoints)
      config.policies.set(release_policies(*release_, config.runner).get<CheckpointWrites>());
    for (const std::string_view key : {"async_scheduling", "runner"})
      if (!tells(key)) header_.untold.emplace_back(fmt::format("config/{}", key));
    header_.tells_chunk_size = tells("chunk_size");
    header_.tells_hash_block_size = tells("hash_block_size");
    header_.tells_hits_inside_blocks = tells("hits_inside_blocks");
    header_.tells_prefix_caching = tells("enable_prefix_caching");
    header_.tells_cudagraph_mode = tells("cudagraph_mode");
  }

 private:
  bool tells(std::string_view key) const { return object_.find(key).has_value(); }
  void integer(std::string_view key, const IntegerRange& range, std::int32_t& target) {
    target = object_.int32_at(key, range).value_or(target);
  }
  void boolean(std::string_view key, bool& target) {
    target = object_.boolean_at(key).value_or(target);
  }

  void read_settings(EngineConfig& config) {
    EngineSettings settings;
    for (const Setting* setting : traced_settings()) {
      const auto member = object_.find(trace_key(*setting));
      if (member)
        setting->store(settings, *setting, *value_of(*setting, *member));
      else if (setting->use.required_in_trace)
        object_.require(trace_key(*setting));
    }
    has_block_size_ = settings.block_size.has_value();
    has_method_ = settings.speculative_method.has_value();
    store_in_config(settings, config);
  }

  void read_policies() {
    const auto object = object_.find(kPoliciesKey);
    if (!object) return;
    EngineSettings settings;
    object->each_member([&](std::string_view name, const JsonValue& value) {
      const Setting* const setting = find_setting(kPoliciesKey, name);
      if (setting == nullptr) value.fail("there is no such policy");
      setting->store(settings, *setting, *value_of(*setting, value));
    });
    header_.policies = settings.policies;
  }

  void check_speculation(EngineConfig& config) {
    const bool speculates = config.num_speculative_tokens > 0;
    if (!has_method_) config.speculative_method = SpeculativeMethod::mtp;
    if (speculates && config.speculative_method == SpeculativeMethod::none)
      object_.fail_at(
          "speculative_method",
          fmt::format(
              "expected mtp, ngram or draft_model with num_speculative_tokens {}, found \"none\"",
              config.num_speculative_tokens));
    // The methods differ only in EAGLE's rules.
    header_.use_eagle = speculates && config.speculative_method == SpeculativeMethod::mtp;
    boolean("use_eagle", header_.use_eagle);
    if (!speculates)
      config.speculative_method = SpeculativeMethod::none;
    else if (header_.use_eagle)
      config.speculative_method = SpeculativeMethod::mtp;
    else if (config.speculative_method == SpeculativeMethod::mtp)
      config.speculative_method = SpeculativeMethod::ngram;
  }

  void check_capture_sizes(const EngineConfig& config) {
    if (!std::ranges::is_sorted(config.cudagraph_capture_sizes))
      object_.fail_at("cudagraph_capture_sizes", "expected ascending sizes");
  }
  void read_batch_order(EngineConfig& config) {
    const auto threshold = object_.find("reorder_batch_threshold");
    if (!threshold) return;
    if (threshold->is_null())
      config.batch_order = BatchOrder::as_condensed;
    else
      threshold->expected("null (or to leave it out)");
  }
  // null: every state is kept. A trace that does not say has the default of its release.
  void read_retention_interval(EngineConfig& config) {
    constexpr std::string_view kKey = "prefix_cache_retention_interval";
    const auto told = object_.find(kKey);
    header_.retention_unknown = !told && is_unknown_release_;
    if (!told && release_)
      config.prefix_cache_retention_interval =
          default_retention_interval(*release_, config.speculative_method);
    if (told && !told->is_null())
      config.prefix_cache_retention_interval = told->int32({0, kMaxTokens});
  }

  void read_groups(EngineConfig& config) {
    const JsonValue groups = object_.require("kv_cache_groups");
    groups.each_element([&](const JsonValue& group) {
      config.kv_cache_config.groups.push_back(read_group(group, config));
    });
    const auto count = static_cast<std::int64_t>(config.kv_cache_config.groups.size());
    if (count < 1 || count > kMaxGroups)
      groups.fail(fmt::format("{} groups, expected 1 to {}", count, kMaxGroups));
    const auto stores = [](const KVCacheGroup& group) {
      const auto* mamba = std::get_if<MambaSpec>(&group.spec);
      return mamba != nullptr && mamba->num_prefill_checkpoint_blocks > 0;
    };
    if (std::ranges::any_of(config.kv_cache_config.groups, stores))
      config.policies.set(PrefillCheckpoint::as_states_retained);
  }

  KVCacheGroup read_group(const JsonValue& value, const EngineConfig& config) {
    KVCacheGroup group;
    const JsonValue type = value.require("type");
    const JsonValue block_size = value.require("block_size");
    group.is_eagle_group = value.boolean_at("is_eagle_group").value_or(group.is_eagle_group);
    if (type.choice(kGroupTypeWords) == 0) {
      group.spec = FullAttentionSpec{.block_size = block_size.int32({1, kMaxBlockSize})};
      return group;
    }
    read_mamba_spec(value, config, group);
    return group;
  }

  void read_checkpoint_blocks(const JsonValue& value, const EngineConfig& config, MambaSpec& spec) {
    if (const auto blocks = value.find("num_prefill_checkpoint_blocks"))
      spec.num_prefill_checkpoint_blocks = blocks->int32({0, 1});
    else
      compute_checkpoint_blocks(config, spec);
    if (spec.num_prefill_checkpoint_blocks == 0) return;
    spec.prefill_checkpoint_alignment = 1;
    const auto alignment = value.find("prefill_checkpoint_alignment");
    if (alignment && !alignment->is_null())
      spec.prefill_checkpoint_alignment = alignment->int32({1, kMaxBlockSize});
  }

  // A recorder that knows of hits inside blocks knows of these blocks too, and leaves the member
  // out where there are none (semantics: prefill-checkpoint).
  void compute_checkpoint_blocks(const EngineConfig& config, MambaSpec& spec) {
    if (config.mamba_cache_mode != MambaCacheMode::align || tells("hits_inside_blocks")) return;
    if (is_unknown_release_)
      header_.checkpoints_unknown = header_.checkpoints_unknown ||
                                    spec.mamba_type == MambaType::mamba2 ||
                                    spec.mamba_type == MambaType::gdn_attention;
    if (!release_) return;
    const CheckpointLayers layers =
        release_policies(*release_, config.runner).get<CheckpointLayers>();
    const bool stores = spec.mamba_type == MambaType::mamba2 && layers != CheckpointLayers::none;
    // Its prefill kernel is not in the header; FlashInfer's needs blocks of whole pieces.
    const bool may_store = spec.mamba_type == MambaType::gdn_attention &&
                           layers == CheckpointLayers::mamba2_and_gdn && spec.block_size % 64 == 0;
    // Where the states of a draft model's blocks lie depends on settings that the header lacks.
    header_.checkpoints_unknown =
        header_.checkpoints_unknown || may_store || (stores && header_.use_eagle);
    if (!stores || header_.use_eagle) return;
    header_.computes_checkpoints = true;
    spec.num_prefill_checkpoint_blocks = 1;
  }

  void read_mamba_spec(const JsonValue& value, const EngineConfig& config, KVCacheGroup& group) {
    MambaSpec spec;
    spec.mamba_cache_mode = config.mamba_cache_mode;
    spec.block_size = value.require("block_size").int32({1, kMaxBlockSize});
    if (config.mamba_cache_mode == MambaCacheMode::none) spec.block_size = config.max_model_len;
    if (const auto type = value.find("mamba_type"))
      spec.mamba_type = static_cast<MambaType>(type->choice(kMambaTypeWords));
    else if (header_.untold.empty())
      header_.untold.emplace_back("config/kv_cache_groups/mamba_type");
    spec.num_speculative_blocks = value.int32_at("num_speculative_blocks", {0, kMaxSpec})
                                      .value_or(config.num_speculative_tokens);
    read_checkpoint_blocks(value, config, spec);
    group.spec = spec;
  }

  void read_block_sizes(EngineConfig& config) {
    std::int32_t smallest = INT32_MAX;
    config.hash_block_size = 0;
    for (const KVCacheGroup& group : config.kv_cache_config.groups) {
      smallest = std::min(smallest, group.block_size());
      config.hash_block_size = std::gcd(config.hash_block_size, group.block_size());
    }
    if (!has_block_size_) config.block_size = smallest;
    integer("hash_block_size", {1, kMaxBlockSize}, config.hash_block_size);
    if (object_.find("scheduler_block_size"))
      integer("scheduler_block_size", {1, INT32_MAX}, config.scheduler_block_size);
    else
      config.scheduler_block_size = common_block_size(config);
  }

  // The least common multiple. Beyond the length of any sequence its exact value does not matter.
  std::int32_t common_block_size(const EngineConfig& config) {
    std::int64_t multiple = 1;
    for (const KVCacheGroup& group : config.kv_cache_config.groups) {
      multiple = std::lcm(multiple, std::int64_t{group.block_size()});
      if (multiple > INT32_MAX)
        object_.fail(
            "the least common multiple of the groups' block sizes is above 2147483647 (expected a "
            "scheduler_block_size)");
    }
    return static_cast<std::int32_t>(multiple);
  }

  const JsonValue& object_;
  ForeignHeader& header_;
  std::optional<Release> release_;
  bool is_unknown_release_;  // of vLLM
  bool has_block_size_ = false;
  bool has_method_ = false;
};

// "vllm 0.33.0", as the recorder names an engine, or "vllm 0.33.0+cu130" with the local version
// that wheels for a CUDA version have.
std::optional<Release> release_of_engine(std::string_view engine) {
  constexpr std::string_view kVllm = "vllm ";
  if (!engine.starts_with(kVllm)) return std::nullopt;
  const std::string_view version = engine.substr(kVllm.size());
  return parse_release(version.substr(0, version.find('+')));
}

}  // namespace

ForeignHeader read_header(const JsonValue& line) {
  ForeignHeader header;
  const std::int64_t version = line.int64_at(kVersionKey, {1, INT64_MAX}).value_or(0);
  if (version > kTraceVersion)
    line.fail_at(kVersionKey,
                 fmt::format("version {}, this program reads version {}", version, kTraceVersion));
  header.engine = line.string_at("engine").value_or("");
  header.name = line.string_at("name").value_or("");
  header.is_vllm = header.engine.starts_with("vllm");
  header.release = release_of_engine(header.engine);
  const JsonValue config = line.require("config");
  ConfigReader(config, header).read();
  return header;
}

}  // namespace hybridscope
