#include "sessions/judge/judged_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/metadata/builder_policies.h"

namespace hybridscope {
namespace {

// The sizes that any release of runner V2 may capture for the listed ones: a trace does not say
// which of the rules its engine has.
std::vector<std::int32_t> sizes_of_any_release(EngineConfig config) {
  std::vector<std::int32_t> sizes;
  for (const DecodeGraphs rule : {DecodeGraphs::rounded_list, DecodeGraphs::each_size_rounded}) {
    config.policies.set(rule);
    const CheckConfig with_rule = make_check_config(config);
    const std::vector<std::int32_t>& more = with_rule.limits->cudagraph_capture_sizes;
    sizes.insert(sizes.end(), more.begin(), more.end());
  }
  std::ranges::sort(sizes);
  return sizes;
}

}  // namespace

Result<TraceJudge> TraceJudge::create(const ForeignHeader& header, const LanguageModel& language) {
  auto importer = ForeignImporter::create(header);
  if (!importer.ok()) return importer.error();
  CheckConfig config = make_check_config(header.config);
  config.hits_inside_blocks = header.hits_inside_blocks;
  if (!header.tells_chunk_size) config.limits->chunk_size = 0;
  if (header.config.cudagraph_capture_sizes.empty())
    config.limits->cudagraph_capture_sizes.clear();
  else if (header.config.runner == ModelRunner::v2)
    config.limits->cudagraph_capture_sizes = sizes_of_any_release(header.config);
  auto judge = StepJudge::create(
      config, {.language = language, .has_own_engine = false, .keeps_speech = true});
  if (!judge.ok()) return judge.error();
  return TraceJudge(header, std::move(importer).value(), std::move(judge).value());
}

TraceJudge::TraceJudge(const ForeignHeader& header, ForeignImporter importer, StepJudge judge)
    : untold_(header), importer_(std::move(importer)), judge_(std::move(judge)) {}

Result<CheckedStep> TraceJudge::judge(const ForeignStep& step, CheckScope scope) {
  const auto trace = importer_.import(step);
  if (!trace.ok()) return trace.error();
  ++num_steps_;
  num_request_steps_ += static_cast<std::int64_t>(trace.value()->rows.size());
  untold_.take(step, *trace.value(), importer_);
  const TokenContentOf token_of = [this](RequestId request, std::int32_t position) {
    return importer_.token(request, position);
  };
  auto judged = judge_.judge(*trace.value(), scope, {.token_of = token_of, .states = step.states});
  if (!judged.ok()) return judged.error();
  const CheckedStep& checked = judged.value();
  return CheckedStep{
      .trace = checked.trace,
      .findings = untold_.hide_findings() ? std::span<const Finding>() : checked.findings,
      .writes = checked.writes,
      .speech = checked.speech};
}

JudgedTrace::JudgedTrace(std::string file, CheckScope scope, IsTraceWanted is_wanted,
                         LanguageModel language)
    : reader_(std::move(file)),
      scope_(scope),
      is_wanted_(std::move(is_wanted)),
      language_(std::move(language)),
      names_(numbered_names()) {}

Result<JudgedLine> JudgedTrace::take(PaddedLine text, std::int64_t line) {
  line_ = line;
  return judge_line(reader_.read_line(text, line));
}

Result<JudgedLine> JudgedTrace::take(std::string_view text, std::int64_t line) {
  line_ = line;
  return judge_line(reader_.read_line(text, line));
}

Result<JudgedLine> JudgedTrace::judge_line(const Result<TraceLine>& read) {
  if (!read.ok()) return read.error();
  JudgedLine taken{.kind = read.value(), .step = {}};
  if (taken.kind == TraceLine::header) {
    if (Status begun = begin(); !begun.ok()) return begun.error();
  } else if (taken.kind == TraceLine::step && has_begun()) {
    const auto judged = judge();
    if (!judged.ok()) return judged.error();
    taken.step.emplace(judged.value());
  }
  return taken;
}

Status JudgedTrace::begin() {
  const bool wanted = !is_wanted_ || is_wanted_(reader_.header());
  end();
  if (!wanted) return Ok{};
  auto judge = TraceJudge::create(reader_.header(), language_);
  if (!judge.ok()) return at_line(judge.error());
  judge_.emplace(std::move(judge).value());
  names_ =
      make_names(reader_.header().config, [this](RequestId id) { return reader_.name_of(id); });
  return Ok{};
}

Result<CheckedStep> JudgedTrace::judge() {
  auto judged = judge_->judge(reader_.step(), scope_);
  if (!judged.ok()) return at_line(judged.error());
  return judged;
}

Error JudgedTrace::at_line(const Error& error) const {
  return {error.kind, fmt::format("{}:{}: {}", file(), line_, error.message)};
}

namespace {

std::string at_step(std::int64_t step, const std::string& what) {
  return step == 0 ? what : fmt::format("step {}: {}", step, what);
}

// Does a layer of the group get told in this step what it stores inside a prefill?
bool tells_checkpoints(const ForeignMetadata& metadata) {
  return std::ranges::any_of(metadata.arrays, [](const ForeignArray& array) {
    return array.name.starts_with("checkpoint_meta") || array.name.starts_with("checkpoint.") ||
           array.name == "checkpoint";
  });
}

// Does Mamba2's metadata say what is stored inside prefills, but not at the end of which chunk?
// Ours takes that from the states that the scheduler made room for, and those may be none.
bool lacks_checkpoint_chunks(const ForeignStep& step, const ForeignMetadata& metadata) {
  const auto offsets =
      std::ranges::find(metadata.arrays, "checkpoint_meta.checkpoint_offsets", &ForeignArray::name);
  return offsets != metadata.arrays.end() && !step.at(offsets->values).empty() &&
         std::ranges::find(metadata.arrays, "checkpoint_chunk_idx", &ForeignArray::name) ==
             metadata.arrays.end();
}

std::int32_t block_size_of(const EngineConfig& config, std::int32_t group) {
  return config.kv_cache_config.groups[static_cast<std::size_t>(group)].block_size();
}

}  // namespace

UntoldParts::UntoldParts(const ForeignHeader& header) : header_(header) {
  for (const std::string& member : header.untold) hide(0, member + " is not told");
}

void UntoldParts::hide(std::int64_t step, const std::string& what) {
  if (hiding_.empty()) hiding_ = at_step(step, what);
}

void UntoldParts::doubt(std::int64_t step, const std::string& what) {
  if (doubt_.empty()) doubt_ = at_step(step, what);
}

std::string UntoldParts::words() const {
  if (!hiding_.empty()) return hiding_;
  if (!doubt_.empty() || tells_registrations_ || tells_hashes_after_output_ || full_block_at_ == 0)
    return doubt_;
  return at_step(full_block_at_, "block_hashes: a block was full, and no line has \"registered\"");
}

void UntoldParts::take(const ForeignStep& step, const StepTrace& trace,
                       const ForeignImporter& importer) {
  for (const std::string_view member : step.untold)
    hide(step.step, std::string(member) + " is not told");
  look_at_hashes(step, trace, importer);
  look_at_lost_hashes(step, importer);
  look_at_block_copies(step, trace, importer.tables());
  look_at_checkpoints(step, trace, importer);
  look_at_rows(step, trace);
  look_at_computed(step, importer);
}

void UntoldParts::look_at_hashes(const ForeignStep& step, const StepTrace& trace,
                                 const ForeignImporter& importer) {
  if (header_.config.mamba_cache_mode == MambaCacheMode::none) return;
  if (!step.block_hashes) return look_at_counted_hashes(step);
  tells_registrations_ = tells_registrations_ || !step.block_hashes->registered.empty();
  tells_hashes_after_output_ =
      tells_hashes_after_output_ || !step.block_hashes_after_output.registered.empty();
  for (const ForeignHash& hash : step.block_hashes->registered)
    look_at_told_hash(step, hash, importer);
  // An engine hits blocks by their hashes; one that gets its hash in this step had none to be hit
  // by.
  const bool later = header_.config.async_scheduling || header_.config.num_speculative_tokens > 0;
  const std::int32_t block = importer.hit_without_hash();
  const bool gets_it_now =
      std::ranges::find(step.block_hashes->registered, block, &ForeignHash::block_id) !=
      step.block_hashes->registered.end();
  if (block > 0 && !gets_it_now &&
      (!tells_registrations_ || (later && !tells_hashes_after_output_)))
    hide(step.step,
         fmt::format("block {} is hit, and {} does not tell which hash it has", block,
                     tells_registrations_ ? "block_hashes_after_output" : "block_hashes"));
  for (const KVCacheGroup& group : header_.config.kv_cache_config.groups)
    for (const ScheduledTrace& scheduled : trace.scheduled)
      if (!group.is_mamba() && full_block_at_ == 0 && header_.config.enable_prefix_caching &&
          scheduled.num_computed_tokens > group.block_size())
        full_block_at_ = step.step;
}

// The tail of a prompt that a request goes on in is copied for the cache, and its hash moves to the
// copy. A trace that tells no lost hash at all does not say whether the block itself kept it.
void UntoldParts::look_at_lost_hashes(const ForeignStep& step, const ForeignImporter& importer) {
  if (!step.block_hashes) return;
  tells_losses_ = tells_losses_ || !step.block_hashes->lost.empty() ||
                  !step.block_hashes_after_output.lost.empty();
  if (tells_losses_) return;
  for (const ForeignBlockCopy& copy : step.kv_cache_block_copies)
    for (const ForeignHash& hash : step.block_hashes->registered)
      if (hash.block_id == copy.dst_block_id && importer.has_hash(copy.src_block_id) &&
          importer.tables().holders(copy.dst_block_id) == 0 &&
          column_of(importer.tables().block_ids(hash.request, hash.group), copy.src_block_id) >= 0)
        hide(step.step, fmt::format("block {} got the hash of {} tokens as a copy of block {}, and "
                                    "block_hashes/lost does not tell whether that kept its own",
                                    copy.dst_block_id, hash.num_tokens, copy.src_block_id));
}

// Its column has to be that of its last token, but for a state inside a prefill.
void UntoldParts::look_at_told_hash(const ForeignStep& step, const ForeignHash& hash,
                                    const ForeignImporter& importer) {
  const std::int32_t block_size = block_size_of(header_.config, hash.group);
  const std::int32_t unit = header_.config.hash_block_size;
  if (!header_.tells_hash_block_size && hash.num_tokens % unit != 0)
    hide(step.step, fmt::format("config/hash_block_size is not told, and a hash covers {} tokens",
                                hash.num_tokens));
  if (!header_.tells_hits_inside_blocks && hash.num_tokens % block_size != 0 &&
      hash.num_tokens % unit == 0)
    hide(step.step,
         fmt::format("config/hits_inside_blocks is not told, and a hash covers {} tokens",
                     hash.num_tokens));
  const auto& group = header_.config.kv_cache_config.groups[static_cast<std::size_t>(hash.group)];
  const auto* mamba = std::get_if<MambaSpec>(&group.spec);
  if (mamba == nullptr || mamba->num_prefill_checkpoint_blocks == 0) return;
  if (!step.prefill_checkpoints.empty()) return;
  const std::int32_t column =
      hash.column >= 0
          ? hash.column
          : column_of(importer.tables().block_ids(hash.request, hash.group), hash.block_id);
  if (column >= 0 && column != (hash.num_tokens - 1) / block_size)
    hide(step.step,
         fmt::format("prefill_checkpoints is not told, and column {} has the hash of {} tokens",
                     column, hash.num_tokens));
}

// num_cached_block tells which columns of a request have a hash, where all full ones have, and not
// what a request leaves behind that is preempted.
void UntoldParts::look_at_counted_hashes(const ForeignStep& step) {
  if (!header_.tells_prefix_caching)
    return doubt(step.step, "neither block_hashes nor config/enable_prefix_caching is told");
  if (!header_.config.enable_prefix_caching) return;
  const auto& groups = header_.config.kv_cache_config.groups;
  const bool some_mamba =
      std::ranges::any_of(groups, [](const KVCacheGroup& group) { return group.is_mamba(); });
  if (header_.hits_inside_blocks)
    hide(step.step, "block_hashes is not told, and hits may end inside blocks");
  else if (header_.retention_unknown && some_mamba)
    doubt(step.step,
          "neither block_hashes nor config/prefix_cache_retention_interval is told, and what is "
          "the default of the release is not known");
  else if (header_.config.prefix_cache_retention_interval && some_mamba)
    doubt(step.step, "block_hashes is not told, and not every state keeps a hash");
  else if (!step.preempted_req_ids.empty())
    doubt(step.step, "block_hashes is not told, and a request was preempted");
  else if (step.num_cached_block.size() < step.num_scheduled_tokens.size())
    doubt(step.step, "neither block_hashes nor num_cached_block is told");
}

// Somebody else's block that a hit ends in is copied before it is written.
void UntoldParts::look_at_block_copies(const ForeignStep& step, const StepTrace& trace,
                                       const BlockTableMirror& tables) {
  if (!step.kv_cache_block_copies.empty()) return;
  if (header_.tells_hits_inside_blocks && !header_.hits_inside_blocks) return;
  for (const ScheduledTrace& scheduled : trace.scheduled)
    for (const GroupTrace& group : trace.groups) {
      const std::int32_t hit = scheduled.num_hit_tokens;
      if (hit % group.block_size == 0 || hit % header_.config.hash_block_size != 0 ||
          tables.block_at(scheduled.request, group.group, hit / group.block_size) == kNullBlock)
        continue;
      hide(step.step,
           fmt::format("kv_cache_block_copies is not told, and a hit of {} tokens ends in a block",
                       hit));
    }
}

void UntoldParts::look_at_checkpoints(const ForeignStep& step, const StepTrace& trace,
                                      const ForeignImporter& importer) {
  if (!importer.untold_checkpoints().empty())
    hide(step.step, importer.untold_checkpoints() + " is not told");
  for (const ForeignMetadata& metadata : step.attn_metadata)
    if (!header_.computes_checkpoints && lacks_checkpoint_chunks(step, metadata))
      hide(step.step,
           fmt::format("attn_metadata/{}/checkpoint_chunk_idx is not told", metadata.group));
  if (importer.contradicts_checkpoints())
    hide(step.step,
         "prefill_checkpoints is not told, and attn_metadata shows others than the release's");
  if (!header_.checkpoints_unknown || !step.prefill_checkpoints.empty()) return;
  const bool prefills = std::ranges::any_of(trace.scheduled, [](const ScheduledTrace& scheduled) {
    return scheduled.num_computed_tokens < scheduled.num_prompt_tokens;
  });
  const bool told =
      !step.attn_metadata.empty() && std::ranges::all_of(step.attn_metadata, tells_checkpoints);
  if (prefills && !told)
    hide(step.step,
         "neither num_prefill_checkpoint_blocks nor what the metadata says of states inside "
         "prefills is told");
}

void UntoldParts::look_at_rows(const ForeignStep& step, const StepTrace& trace) {
  const EngineConfig& config = header_.config;
  const bool v2 = config.runner == ModelRunner::v2;
  for (const ForeignRow& row : step.rows) {
    if (v2 && row.slot < 0) doubt(step.step, "input_batch/idx_mapping is not told");
    if ((v2 || config.async_scheduling) && row.num_computed_tokens < 0)
      doubt(step.step, "input_batch/num_computed_tokens is not told");
    if (config.num_speculative_tokens > 0 && row.num_accepted_tokens < 0)
      doubt(step.step, "input_batch/num_accepted_tokens is not told");
  }
  for (const ForeignNewRequest& admitted : step.scheduled_new_reqs) {
    const auto scheduled =
        std::ranges::find(trace.scheduled, admitted.request, &ScheduledTrace::request);
    if (admitted.max_tokens < 0 && scheduled != trace.scheduled.end() &&
        scheduled->admission == Admission::new_request)
      doubt(step.step, "scheduler_output/scheduled_new_reqs/max_tokens is not told");
  }
}

// In vLLM a kernel makes the copies, and no trace tells what kernels do.
void UntoldParts::look_at_computed(const ForeignStep& step, const ForeignImporter& importer) {
  if (!importer.untold_metadata().empty())
    doubt(step.step, importer.untold_metadata() + " is not told");
  const std::int64_t copies = importer.num_computed(Computed::preprocess_copies) +
                              importer.num_computed(Computed::postprocess_copies);
  if (copies > num_computed_copies_ && !header_.is_vllm)
    doubt(step.step, step.preprocess_copies ? "postprocess_copies is not told"
                                            : "preprocess_copies is not told");
  num_computed_copies_ = copies;
  const std::int64_t graphs = importer.num_computed(Computed::cudagraph);
  const bool runs_none =
      header_.tells_cudagraph_mode && header_.config.cudagraph_mode == CUDAGraphMode::none;
  if (graphs > num_computed_cudagraphs_ && !runs_none) doubt(step.step, "cudagraph is not told");
  num_computed_cudagraphs_ = graphs;
}

}  // namespace hybridscope
