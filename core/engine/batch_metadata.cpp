#include "core/engine/batch_metadata.h"

#include <algorithm>

#include "core/base/math.h"
#include "core/caching/manager_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/kernel_policies.h"
#include "core/engine/scheduler_setup.h"
#include "core/engine/worker_policies.h"
#include "core/metadata/builder_policies.h"
#include "core/metadata/graph_padding.h"

namespace hybridscope {
namespace {

// The states inside prefills that the scheduler reserves blocks for.
CheckpointSettings checkpoint_settings(const EngineConfig& config, const MambaSpec& spec) {
  const AlignedSplitSettings split = aligned_split_settings(config);
  const PrefillCheckpoint policy = config.policies.get<PrefillCheckpoint>();
  const bool stores = policy != PrefillCheckpoint::never && spec.num_prefill_checkpoint_blocks > 0;
  return {
      .alignment = stores ? spec.prefill_checkpoint_alignment : 0,
      .hash_block_size = split.hash_block_size,
      .hit_alignment = split.fine_grained_hits ? split.hash_block_size : split.scheduler_block_size,
      .replay = {.eagle_block_drop = split.eagle_block_drop,
                 .num_hash_lookahead_tokens = split.num_hash_lookahead_tokens,
                 .leaves_a_token_with_drop = policy != PrefillCheckpoint::as_states_retained}};
}

// Mode all copies whole table rows, so its builder is made as wide as the worker's table.
MambaBuilderConfig builder_config(const EngineConfig& config, const MambaSpec& spec,
                                  const CudagraphResolution& cudagraphs) {
  MambaBuilderConfig builder{.mamba_cache_mode = config.mamba_cache_mode,
                             .block_size = spec.block_size,
                             .num_spec = config.num_speculative_tokens,
                             .num_speculative_blocks = spec.num_speculative_blocks,
                             .max_num_seqs = config.max_num_seqs,
                             .max_model_len = config.max_model_len,
                             .max_cudagraph_capture_size = {},
                             .full_cudagraph = has_full_cudagraphs(cudagraphs.cudagraph_mode),
                             .chunk_size = config.chunk_size,
                             .checkpoint = checkpoint_settings(config, spec)};
  if (config.mamba_cache_mode == MambaCacheMode::all) {
    std::int32_t columns =
        cdiv(config.max_model_len, spec.block_size) + 1 + config.num_speculative_tokens;
    // The builder adds the speculative blocks itself.
    if (!config.policies.is(AllModeArrays::cut_to_tokens)) columns -= spec.num_speculative_blocks;
    builder.max_model_len = columns * spec.block_size;
  }
  if (!cudagraphs.capture_sizes.empty())
    builder.max_cudagraph_capture_size = cudagraphs.capture_sizes.back();
  return builder;
}

}  // namespace

std::int32_t block_table_columns(const EngineConfig& config, const KVCacheGroup& group) {
  const std::int32_t spec = config.num_speculative_tokens;
  if (group.is_mamba() && config.mamba_cache_mode == MambaCacheMode::none) return 1 + spec;
  return cdiv(config.max_model_len, group.block_size()) + 1 + spec;
}

std::vector<std::int32_t> block_table_columns(const EngineConfig& config) {
  std::vector<std::int32_t> columns;
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    columns.push_back(block_table_columns(config, group));
  return columns;
}

Result<BatchMetadata> BatchMetadata::create(const EngineConfig& config) {
  auto cudagraphs = resolve_cudagraphs(config);
  if (!cudagraphs.ok()) return cudagraphs.error();
  BatchMetadata batch(std::move(cudagraphs).value());
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    if (!group.is_mamba()) {
      batch.builder_of_group_.push_back(-1);
      continue;
    }
    if (Status added = batch.add_builder(config, std::get<MambaSpec>(group.spec)); !added.ok())
      return added.error();
  }
  return batch;
}

BatchMetadata::BatchMetadata(CudagraphResolution cudagraphs) : cudagraphs_(std::move(cudagraphs)) {}

Status BatchMetadata::add_builder(const EngineConfig& config, const MambaSpec& spec) {
  auto builder = metadata_builder_row(spec.mamba_type)
                     .create(builder_config(config, spec, cudagraphs_), config.policies);
  if (!builder.ok()) return builder.error();
  mamba_block_size_ = spec.block_size;
  const std::int32_t threshold = hybridscope::reorder_batch_threshold(builder.value());
  reorder_batch_threshold_ =
      builders_.empty() ? threshold : std::min(reorder_batch_threshold_, threshold);
  builder_of_group_.push_back(static_cast<std::int32_t>(builders_.size()));
  builders_.push_back(std::move(builder).value());
  return Ok{};
}

RowClass row_class_of(const ScheduledTrace& scheduled, RowClassing classing,
                      std::int32_t num_speculative_tokens) {
  const RowClass decode = num_speculative_tokens > 0 ? RowClass::verify : RowClass::decode;
  if (scheduled.num_computed_tokens == 0) return RowClass::prefill;
  if (scheduled.num_computed_tokens < scheduled.num_prompt_tokens) return RowClass::prefill;
  if (classing != RowClassing::by_meaning)
    return scheduled.num_scheduled_tokens <= 1 + num_speculative_tokens ? decode
                                                                        : RowClass::prefill;
  const std::int32_t known = scheduled.num_tokens + scheduled.num_output_placeholders;
  return scheduled.num_computed_tokens == known - 1 ? decode : RowClass::prefill;
}

void BatchMetadata::place_rows(const StepTrace& trace) {
  max_query_len_ = 0;
  query_start_loc_.assign(1, 0);
  seq_lens_.clear();
  for (const RowTrace& row : trace.rows) {
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    max_query_len_ = std::max(max_query_len_, scheduled.num_scheduled_tokens);
    query_start_loc_.push_back(query_start_loc_.back() + scheduled.num_scheduled_tokens);
    seq_lens_.push_back(row.num_computed_tokens + scheduled.num_scheduled_tokens);
  }
}

// Which graph the step runs in (semantics: is-uniform-decode, cudagraph-dispatch,
// cudagraph-dispatch-v2).
Result<CudagraphDispatch> BatchMetadata::dispatch_runner(const EngineConfig& config,
                                                         StepTrace& trace) const {
  const std::int32_t num_spec = config.num_speculative_tokens;
  const BatchShape shape{max_query_len_, query_start_loc_.back(),
                         static_cast<std::int32_t>(trace.rows.size()), num_spec};
  const bool all_decodes =
      shape.num_reqs > 0 && std::ranges::all_of(trace.rows, [&](const RowTrace& row) {
        return row.row_class != RowClass::prefill &&
               trace.scheduled_of(row).num_scheduled_tokens == 1 + num_spec;
      });
  trace.uniform_decode = config.policies.is(UniformDecodeTest::by_row_class)
                             ? all_decodes
                             : is_uniform_decode_by_shape(shape);
  const CudagraphDispatchConfig captured = captured_graphs(config, cudagraphs_);
  if (config.runner == ModelRunner::v1)
    return dispatch_cudagraph(captured, {.num_tokens = shape.num_tokens,
                                         .num_reqs = shape.num_reqs,
                                         .uniform_decode = trace.uniform_decode});
  std::optional<std::int32_t> uniform_token_count = get_uniform_token_count(shape);
  // Only a count of 1 + K has a uniform graph, so the count is dropped if the batch is not a
  // uniform decode.
  if (!trace.uniform_decode) uniform_token_count.reset();
  return dispatch_cudagraph_v2(captured, {.num_tokens = shape.num_tokens,
                                          .num_reqs = shape.num_reqs,
                                          .uniform_token_count = uniform_token_count});
}

// Dispatch, then padding (semantics: common-attention-metadata).
Status BatchMetadata::dispatch(const EngineConfig& config, StepTrace& trace,
                               std::span<BlockTable> tables) {
  place_rows(trace);
  const auto dispatched = dispatch_runner(config, trace);
  if (!dispatched.ok()) return dispatched.error();
  trace.graph = dispatched.value();
  pad(config, trace, tables);
  return Ok{};
}

void BatchMetadata::dispatch_as(const EngineConfig& config, StepTrace& trace,
                                const CudagraphDispatch& graph, std::span<BlockTable> tables) {
  place_rows(trace);
  trace.graph = graph;
  HS_EXPECT(!graph.pads_metadata() ||
            (graph.num_reqs_padded >= static_cast<std::int32_t>(trace.rows.size()) &&
             graph.num_tokens_padded >= query_start_loc_.back()));
  pad(config, trace, tables);
}

// The metadata sees the padding of full graphs only.
void BatchMetadata::pad(const EngineConfig& config, StepTrace& trace,
                        std::span<BlockTable> tables) {
  const auto num_reqs = static_cast<std::int32_t>(trace.rows.size());
  const std::int32_t num_tokens = query_start_loc_.back();
  const bool pads = trace.graph.pads_metadata();
  const std::int32_t padded_reqs = pads ? trace.graph.num_reqs_padded : num_reqs;
  query_start_loc_.resize(static_cast<std::size_t>(padded_reqs) + 1, num_tokens);
  seq_lens_.resize(static_cast<std::size_t>(padded_reqs), 0);
  if (config.policies.is(PaddingPrefilling::left_over))
    is_prefilling_.resize(static_cast<std::size_t>(padded_reqs), 0);  // keeps earlier values
  else
    is_prefilling_.assign(static_cast<std::size_t>(padded_reqs), 0);
  for (std::size_t r = 0; r < trace.rows.size(); ++r)
    is_prefilling_[r] = trace.rows[r].is_prefilling ? 1 : 0;
  checkpoint_positions_.clear();
  checkpoint_columns_.clear();
  if (given_checkpoints_) {
    checkpoint_positions_ = std::move(given_checkpoints_->positions);
    checkpoint_columns_ = std::move(given_checkpoints_->columns);
    given_checkpoints_.reset();
    checkpoint_positions_.resize(static_cast<std::size_t>(padded_reqs), 0);
    checkpoint_columns_.resize(static_cast<std::size_t>(padded_reqs), -1);
  } else if (config.policies.is(CheckpointWrites::reserved)) {
    checkpoint_positions_.assign(static_cast<std::size_t>(padded_reqs), 0);
    for (std::size_t r = 0; r < trace.rows.size(); ++r)
      checkpoint_positions_[r] = trace.scheduled_of(trace.rows[r]).checkpoint_position;
  }
  for (BlockTable& table : tables) table.null_rows(num_reqs, padded_reqs);
  const PolicySet& policies = config.policies;
  trace.kernels = {.shifts_last_position_first = policies.is(SameBlockShift::last_position_first),
                   .gates_in_batch_order = policies.is(GdnGates::in_batch_order),
                   .rolls_conv_by_window = policies.is(ConvRoll::window_length),
                   .stores_boundaries_by_piece = policies.is(ConvBoundaries::by_piece),
                   .steps_kda_gates_by_head = policies.is(KdaGateStride::heads),
                   .runs_null_rows = policies.is(NullRows::run),
                   .varies_post_copies = !policies.is(BackwardPostCopy::made) ||
                                         !policies.is(AcceptedCountReset::separate_output) ||
                                         !policies.is(PostCopyBlockTable::of_each_group)};
  trace.common = {.query_start_loc = query_start_loc_,
                  .seq_lens = seq_lens_,
                  .num_reqs = padded_reqs,
                  .num_actual_tokens = pads ? trace.graph.num_tokens_padded : num_tokens,
                  .max_query_len = max_query_len_,
                  .block_table_tensor = {},
                  .is_prefilling = is_prefilling_,
                  .checkpoint_positions = checkpoint_positions_,
                  .checkpoint_columns = checkpoint_columns_};
}

}  // namespace hybridscope
