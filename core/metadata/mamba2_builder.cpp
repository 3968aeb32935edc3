#include "core/metadata/mamba2_builder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/persistent_buffer.h"

namespace hybridscope {

Mamba2MetadataBuilder::Mamba2MetadataBuilder(MambaMetadataBuilder base, std::int32_t chunk_size)
    : base_(std::move(base)), chunk_size_(chunk_size), checkpoints_(base_.config()) {}

Result<Mamba2MetadataBuilder> Mamba2MetadataBuilder::create(const MambaBuilderConfig& config,
                                                            const PolicySet& policies) {
  if (!config.chunk_size || *config.chunk_size < 1)
    return invalid_input("Mamba2 needs a chunk_size of at least 1, got " +
                         (config.chunk_size ? std::to_string(*config.chunk_size) : "none"));
  auto base = MambaMetadataBuilder::create(config, policies);
  if (!base) return base.error();
  return Mamba2MetadataBuilder(std::move(base).value(), *config.chunk_size);
}

Result<Mamba2Metadata> Mamba2MetadataBuilder::build(const MambaBuildInputs& inputs) {
  const auto base = base_.build_shared(inputs);
  if (!base) return base.error();
  return with_chunks(inputs.common, base.value());
}

Result<Mamba2Metadata> Mamba2MetadataBuilder::build_for_cudagraph_capture(
    const CommonAttentionMetadata& common, const PolicySet& policies) {
  const auto inputs = base_.capture_inputs(common, takes_counts(policies), policies);
  if (!inputs) return inputs.error();
  return build(inputs.value());
}

Result<Mamba2Metadata> Mamba2MetadataBuilder::update_block_table(
    const Mamba2Metadata& metadata, const TensorView<std::int32_t>& block_table,
    const PolicySet& policies) {
  const auto base = base_.update_block_table(metadata.base, block_table, policies);
  if (!base) return base.error();
  Mamba2Metadata updated = metadata;
  updated.base = base.value();
  const auto checkpoints = checkpoints_.with_table(metadata.checkpoint_meta, block_table);
  if (!checkpoints) return checkpoints.error();
  updated.checkpoint_meta = checkpoints.value();
  return updated;
}

Result<Mamba2Metadata> Mamba2MetadataBuilder::with_chunks(const CommonAttentionMetadata& common,
                                                          const MambaMetadata& base) {
  Mamba2Metadata metadata{.base = base, .chunk_size = chunk_size_};
  const std::int32_t n = base.num_prefills;
  if (n == 0) return metadata;
  std::int32_t* computed = grown(num_computed_tokens_p_, n);
  for (std::int32_t i = 0; i < n; ++i)
    computed[i] = num_computed_tokens(common, common.num_reqs - n + i);
  metadata.prep_initial_states =
      std::any_of(computed, computed + n, [](std::int32_t tokens) { return tokens > 0; });
  const auto checkpoints = checkpoints_.build(common, common.num_reqs - n, {});
  if (!checkpoints) return checkpoints.error();
  metadata.checkpoint_meta = checkpoints.value();
  const TensorView<std::int32_t>& offsets = metadata.checkpoint_meta.checkpoint_offsets;
  const auto chunks = chunks_.compute(
      {.chunk_size = chunk_size_,
       .num_computed_tokens_p = {computed, static_cast<std::size_t>(n)},
       .query_start_loc_p = {base.query_start_loc_p.data, static_cast<std::size_t>(n) + 1},
       .checkpoint_offsets_p = {offsets.data, static_cast<std::size_t>(offsets.rows)}});
  if (!chunks) return chunks.error();
  metadata.seq_idx_p = chunks.value().seq_idx_p;
  metadata.cu_chunk_seqlen_p = chunks.value().cu_chunk_seqlen_p;
  metadata.last_chunk_indices_p = chunks.value().last_chunk_indices_p;
  metadata.checkpoint_chunk_idx = chunks.value().checkpoint_chunk_idx;
  return metadata;
}

}  // namespace hybridscope
