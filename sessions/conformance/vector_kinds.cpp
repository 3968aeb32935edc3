#include "sessions/conformance/vector_kinds.h"

#include <array>

#include "sessions/conformance/recompute.h"

namespace hybridscope {
namespace {

constexpr std::string_view kBuilderConfig =
    "mamba_cache_mode block_size num_spec max_num_seqs max_model_len max_cudagraph_capture_size "
    "full_cudagraph parallel_drafting decode_context_parallel_size";
constexpr std::string_view kMamba2BuilderConfig =
    "mamba_cache_mode block_size num_spec max_num_seqs max_model_len max_cudagraph_capture_size "
    "full_cudagraph parallel_drafting decode_context_parallel_size chunk_size";

constexpr auto kVectorKinds = std::to_array<VectorKind>({
    {"state_shapes", "shapes of the state tensors of a layer", "layout method tag", "input", "",
     &recompute_state_shapes},
    {"state_dtypes", "dtypes and copy functions of the state tensors", "method", "input", "",
     &recompute_state_dtypes},
    {"split_batch", "decode and prefill rows, Mamba builders", "decode_threshold require_uniform",
     "input", "query_start_loc num_reqs num_actual_tokens max_query_len", &recompute_split_batch},
    {"split_batch_v2", "decode and prefill rows, GDN builder",
     "decode_threshold require_uniform treat_short_extends_as_decodes", "input",
     "query_start_loc num_reqs num_actual_tokens max_query_len", &recompute_split_batch_v2},
    {"block_table_gather", "block table columns that a builder reads",
     "mamba_cache_mode block_size num_speculative_blocks", "input",
     "block_table_shape block_table seq_lens", &recompute_block_table_gather},
    {"varlen_chunks", "chunks of packed tokens", "chunk_size", "input", "query_start_loc",
     &recompute_varlen_chunks},
    {"conv1d_metadata", "programs of the causal conv kernel", "", "input", "query_start_loc",
     &recompute_conv1d_metadata},
    {"fla_chunks", "chunks of the FLA kernels", "chunk_size", "input", "cu_seqlens",
     &recompute_fla_chunks},
    {"mamba_builder", "metadata of Mamba1 layers, call by call", kBuilderConfig, "calls", "",
     &recompute_mamba_builder},
    {"mamba2_builder", "metadata of Mamba2 layers, call by call", kMamba2BuilderConfig, "calls", "",
     &recompute_mamba2_builder},
    {"gdn_builder", "metadata of GatedDeltaNet layers, call by call", kBuilderConfig, "calls",
     "num_decode_draft_tokens", &recompute_gdn_builder},
    {"prefix_block_indices", "block columns of mode all", "block_size", "input",
     "query_start_loc seq_lens", &recompute_prefix_block_indices},
    {"mamba_aligned_split", "chunks that end on block boundaries", "block_size use_eagle", "input",
     "num_computed_tokens num_prompt_tokens num_tokens num_new_tokens "
     "num_new_local_computed_tokens num_external_computed_tokens num_uncached_common_prefix_tokens",
     &recompute_mamba_aligned_split},
    {"block_sizes", "scheduler and hash block size",
     "block_size enable_prefix_caching hash_block_size decode_context_parallel_size kv_connector",
     "input", "groups", &recompute_block_sizes},
});

}  // namespace

std::span<const VectorKind> vector_kinds() { return kVectorKinds; }

}  // namespace hybridscope
