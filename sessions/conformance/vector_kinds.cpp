#include "sessions/conformance/vector_kinds.h"

#include <array>

#include "core/engine/policy_table.h"
#include "sessions/conformance/recompute.h"

namespace hybridscope {
namespace {

constexpr std::string_view kBuilderConfig =
    "mamba_cache_mode block_size num_spec max_num_seqs max_model_len max_cudagraph_capture_size "
    "full_cudagraph parallel_drafting decode_context_parallel_size";
constexpr std::string_view kMamba2BuilderConfig =
    "mamba_cache_mode block_size num_spec max_num_seqs max_model_len max_cudagraph_capture_size "
    "full_cudagraph parallel_drafting decode_context_parallel_size chunk_size";

constexpr std::string_view kCacheConfig =
    "mamba_cache_mode block_size num_speculative_blocks groups num_blocks max_model_len "
    "enable_caching use_eagle scheduler_block_size hash_block_size watermark";
// The members of kCacheConfig that the hit search does not need.
constexpr std::string_view kOptionalCacheHitsConfig =
    "block_size max_model_len enable_caching watermark";
constexpr std::string_view kSchedulerConfig =
    "mamba_cache_mode block_size num_speculative_blocks groups num_blocks max_model_len "
    "enable_caching use_eagle scheduler_block_size hash_block_size watermark num_spec_tokens "
    "max_num_seqs max_num_batched_tokens policy reserve_full_isl long_prefill_token_threshold "
    "enable_chunked_prefill use_v2_model_runner";
constexpr std::string_view kPipelineConfig =
    "mamba_cache_mode block_size num_speculative_blocks groups num_blocks max_model_len "
    "enable_caching use_eagle scheduler_block_size hash_block_size watermark num_spec_tokens "
    "max_num_seqs max_num_batched_tokens policy reserve_full_isl long_prefill_token_threshold "
    "enable_chunked_prefill use_v2_model_runner layout memory mamba_groups block_table_columns";

// A row for vectors of real recurrences.
constexpr VectorKind numeric_kind(std::string_view name, std::string_view covers,
                                  std::string_view config_fields, std::string_view input_fields,
                                  NumericOp* op, NumericOp* chunked_op = nullptr) {
  return {.name = name,
          .covers = covers,
          .config_fields = config_fields,
          .input_field = "input",
          .input_fields = input_fields,
          .recompute = nullptr,
          .on_device = "layer kernel",
          .numeric_op = op,
          .chunked_op = chunked_op};
}

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
     "block_table_shape block_table seq_lens", &recompute_block_table_gather, "gather"},
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
    {"copy_specs", "which bytes of a state a copy reads", "layout func dtype element_size", "input",
     "shape stride block_ids cur_block_idx num_accepted_tokens", &recompute_copy_specs},
    {"preprocess_align", "V1's copies before the forward pass, bytes included",
     "block_size num_speculative_blocks layout max_num_reqs num_kv_cache_groups "
     "enable_prefix_caching mamba_groups memory num_blocks",
     "input", "steps", &recompute_preprocess_align, "copy list"},
    {"postprocess_align", "the fused copies after acceptance, V1 and V2, bytes included",
     "form block_size num_speculative_blocks layout max_num_reqs num_kv_cache_groups mamba_groups "
     "num_blocks memory overlap race",
     "input", "num_accepted_tokens mamba_state_idx num_reqs block_tables",
     &recompute_postprocess_align, "fused post-copy"},
    {"precopy_align", "V2's advance, pre-copy and post-copy, bytes included",
     "block_size num_speculative_blocks layout max_num_reqs num_kv_cache_groups mamba_groups "
     "num_blocks block_table_stride memory",
     "input", "steps", &recompute_precopy_align, "advance, fused pre-copy and post-copy"},
    {"ctx_init", "where states lie, flattened for kernels",
     "layout block_size num_speculative_blocks num_kv_cache_groups mamba_groups max_num_reqs "
     "memory fault",
     "input", "block_table_strides", &recompute_ctx_init},
    {"stage_inputs", "arrays staged for the fused copies", "max_num_reqs", "input", "steps",
     &recompute_stage_inputs},
    {"all_mode", "columns remembered in mode all", "block_size num_spec_tokens max_num_reqs",
     "input", "steps", &recompute_all_mode},
    {"prefix_block_indices", "block columns of mode all", "block_size", "input",
     "query_start_loc seq_lens", &recompute_prefix_block_indices},
    {"kv_cache_manager", "blocks of requests, call by call, pool included", kCacheConfig, "calls",
     "", &recompute_kv_cache_manager},
    {"cache_hits", "the longest cached prefix",
     "groups mamba_cache_mode num_speculative_blocks num_blocks use_eagle scheduler_block_size "
     "hash_block_size",
     "input", "", &recompute_cache_hits, "", kOptionalCacheHitsConfig},
    {"mamba_aligned_split", "chunks that end on block boundaries", "block_size use_eagle", "input",
     "num_computed_tokens num_prompt_tokens num_tokens num_new_tokens "
     "num_new_local_computed_tokens num_external_computed_tokens num_uncached_common_prefix_tokens",
     &recompute_mamba_aligned_split},
    {"block_sizes", "scheduler and hash block size",
     "block_size enable_prefix_caching hash_block_size decode_context_parallel_size kv_connector",
     "input", "groups", &recompute_block_sizes},
    {"scheduler", "whole runs of the scheduler, call by call", kSchedulerConfig, "calls", "",
     &recompute_scheduler},
    {"pipeline", "scheduler and V1's worker chained, bytes included", kPipelineConfig, "calls", "",
     &recompute_pipeline, "copy list, fused post-copy"},
    {.name = "release_split",
     .covers = "chunks of mode align in a release",
     .config_fields =
         "block_size scheduler_block_size hash_block_size fine eagle eagle_drop "
         "num_hash_lookahead_tokens has_prefill_checkpoint_blocks prefill_checkpoint_alignment "
         "shared_prefix_checkpoint max_num_scheduled_tokens long_prefill_token_threshold",
     .input_field = "input",
     .input_fields = "num_computed_tokens num_new_local_computed_tokens num_new_tokens "
                     "num_prompt_tokens num_tokens junction",
     .recompute = &recompute_release_split,
     .word_before_release = "split"},
    {.name = "release_scheduler",
     .covers = "whole runs of a release's scheduler, call by call",
     .config_fields =
         "theme async release mamba_cache_mode block_size groups enable_caching prefix_match_unit "
         "method num_spec_tokens num_lookahead_tokens draft_slots num_prefill_lookahead_tokens "
         "disable_eagle_block_drop num_hash_lookahead_tokens eagle_drop "
         "num_prefill_checkpoint_blocks prefill_checkpoint_alignment retention_interval "
         "shared_prefix_checkpoint max_model_len max_num_seqs max_num_batched_tokens "
         "long_prefill_token_threshold policy watermark reserve_full_isl enable_chunked_prefill "
         "runner num_blocks stop_token scheduler_block_size hash_block_size fine",
     .input_field = "calls",
     .input_fields = "",
     .recompute = &recompute_release_scheduler,
     .word_before_release = "scheduler",
     .asking_call_fields =
         "op id prompt max_tokens priority arrival reset_running_requests step sampled drafts"},
    {.name = "release_builders",
     .covers = "metadata of a release's builders, call by call",
     .config_fields = "class mamba_cache_mode block_size num_spec max_num_seqs max_model_len "
                      "max_cudagraph_capture_size full_cudagraph runner chunk_size hash_block_size "
                      "cache_hit_alignment_tokens num_prefill_checkpoint_blocks "
                      "prefill_checkpoint_alignment eagle_drop num_hash_lookahead_tokens",
     .input_field = "calls",
     .input_fields = "batch num_accepted_tokens num_decode_draft_tokens",
     .recompute = &recompute_release_builders,
     .word_before_release = "builders",
     .asking_call_fields = "batch num_accepted_tokens num_decode_draft_tokens",
     .answering_fields = "init"},
    {.name = "release_graphs",
     .covers = "capture sizes of a release, and the CUDA graph of each batch",
     .config_fields = "release runner cudagraph_mode num_spec max_num_seqs max_num_batched_tokens "
                      "max_cudagraph_capture_size cudagraph_capture_sizes",
     .input_field = "calls",
     .input_fields = "num_tokens num_reqs uniform",
     .recompute = &recompute_release_graphs,
     .word_before_release = "graphs",
     .asking_call_fields = "num_tokens num_reqs uniform",
     .answering_fields = "init"},
    {.name = "release_worker",
     .covers = "rows, counts and copies of a release's runners, step by step",
     .config_fields = "release async runner mamba_cache_mode block_size groups num_blocks "
                      "max_model_len max_num_seqs max_num_batched_tokens method num_spec_tokens",
     .input_field = "calls",
     .input_fields = "scheduled",
     .recompute = &recompute_release_worker,
     .word_before_release = "worker",
     .asking_call_fields = "op scheduled new_blocks finished preempted accepted"},
    {.name = "models",
     .covers = "what a release plans before its first step, from config.json, flags and GPU",
     .config_fields = "architectures",
     .input_field = "flags",
     .input_fields = "",
     .recompute = &recompute_startup,
     .vector_fields = "release name config flags gpu usage",
     .answers = &startup_answers},
    numeric_kind("arith", "exponentials, softplus, gates and ordered sums", "", "", &run_arith),
    numeric_kind("rope", "rotary positions", "rotary_dim theta", "x positions", &run_rope),
    numeric_kind("rms_norm", "RMSNorm", "plus_one eps", "x weight", &run_rms_norm),
    numeric_kind("gated_norm", "the norm behind the gate of Mamba2", "groups eps", "x z weight",
                 &run_gated_norm),
    numeric_kind("norm_gated", "the norm before the gate of GatedDeltaNet and KDA", "gate eps",
                 "x z weight", &run_norm_gated),
    numeric_kind("mlp", "the gated feed-forward layer", "", "x gate up down", &run_mlp),
    numeric_kind("attention", "attention over keys and values in blocks", "block_size",
                 "q k v key_cache value_cache query_start_loc seq_lens block_table_tensor",
                 &run_attention),
    numeric_kind(
        "conv_prefill", "causal convolution of prompt rows", "mode width activation",
        "x weight bias conv_state query_start_loc_p has_initial_states_p state_indices_tensor_p",
        &run_as<run_conv, NumericPart::prefill>),
    numeric_kind("conv_update", "causal convolution of decode and verify rows",
                 "kind width K activation", "x weight bias conv_state state_indices_tensor_d",
                 &run_as<run_conv, NumericPart::update>),
    numeric_kind("short_conv", "the short convolution of LFM2", "part width",
                 "BCx weight bias conv_state", &run_short_conv),
    numeric_kind("mamba2_prefill", "the recurrence of Mamba2, prompt rows", "mode",
                 "x dt B C A_log D dt_bias ssm_state prep_initial_states",
                 &run_as<run_mamba2, NumericPart::prefill>,
                 &run_as<run_mamba2, NumericPart::prefill_chunked>),
    numeric_kind("mamba2_update", "the recurrence of Mamba2, decode and verify rows", "kind",
                 "x dt B C A_log D dt_bias ssm_state state_indices_tensor_d",
                 &run_as<run_mamba2, NumericPart::update>),
    numeric_kind("mamba1_prefill", "the recurrence of Mamba1, prompt rows", "mode",
                 "x delta z B C A_log D dt_bias ssm_state query_start_loc_p",
                 &run_as<run_mamba1, NumericPart::prefill>),
    numeric_kind("mamba1_update", "the recurrence of Mamba1, decode rows", "kind",
                 "x delta z B C A_log D dt_bias ssm_state state_indices_tensor_d",
                 &run_as<run_mamba1, NumericPart::update>),
    numeric_kind("gdn_prefill", "the gated delta rule, prompt rows", "mode",
                 "q k v a b A_log dt_bias ssm_state query_start_loc_p",
                 &run_as<run_delta_rule, NumericPart::prefill, DecayOf::head>,
                 &run_as<run_delta_rule, NumericPart::prefill_chunked, DecayOf::head>),
    numeric_kind("gdn_update", "the gated delta rule, decode and verify rows", "kind",
                 "q k v a b A_log dt_bias ssm_state state_indices_tensor_d",
                 &run_as<run_delta_rule, NumericPart::update, DecayOf::head>),
    numeric_kind("kda_prefill", "the delta rule with a decay for each key channel, prompt rows",
                 "mode", "q k v f b A_log dt_bias ssm_state query_start_loc_p",
                 &run_as<run_delta_rule, NumericPart::prefill, DecayOf::key_channel>,
                 &run_as<run_delta_rule, NumericPart::prefill_chunked, DecayOf::key_channel>),
    numeric_kind("kda_update",
                 "the delta rule with a decay for each key channel, decode and verify rows", "kind",
                 "q k v f b A_log dt_bias ssm_state state_indices_tensor_d",
                 &run_as<run_delta_rule, NumericPart::update, DecayOf::key_channel>),
    numeric_kind("lightning_prefill", "lightning attention, prompt rows", "mode",
                 "q k v rate kv_state query_start_loc_p",
                 &run_as<run_lightning, NumericPart::prefill>),
    numeric_kind("lightning_update", "lightning attention, decode rows", "kind",
                 "q k v rate kv_state state_indices_tensor_d",
                 &run_as<run_lightning, NumericPart::update>),
    {.name = "model",
     .covers = "whole models: logits, states, tokens",
     .config_fields = "folder what",
     .input_field = "input",
     .input_fields = "prompt",
     .recompute = nullptr,
     .of_model = true},
});

}  // namespace

PolicySet VectorCase::policies_of(ModelRunner runner) const {
  return with_overrides(release_policies(*release, runner), policies);
}

std::span<const VectorKind> vector_kinds() { return kVectorKinds; }

}  // namespace hybridscope
