#include "sessions/scenario/settings_table.h"

#include <array>

#include "sessions/scenario/setting_rows.h"

namespace hybridscope {
namespace {

using namespace setting_rows;
using S = EngineSettings;

constexpr std::int64_t kMaxInt64 = 9'223'372'036'854'775'807;
constexpr std::int64_t kMaxTokens = 1 << 24;

constexpr std::array<std::string_view, 3> kModes = {"none", "all", "align"};
constexpr std::array<std::string_view, 4> kDtypes = {"auto", "float16", "bfloat16", "float32"};
constexpr std::array<std::string_view, 2> kLayouts = {"SD", "DS"};
constexpr std::array<std::string_view, 2> kSchedulingPolicies = {"fcfs", "priority"};
constexpr std::array<std::string_view, 4> kMethods = {"none", "mtp", "ngram", "draft_model"};
constexpr std::array<std::string_view, 5> kGraphModes = {"NONE", "PIECEWISE", "FULL",
                                                         "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"};
constexpr std::array<std::string_view, 2> kRunners = {"v1", "v2"};
constexpr std::array<std::string_view, 4> kBackends = {"flash_attn_3", "flash_attn_2", "triton",
                                                       "flex"};

constexpr std::array<std::string_view, 2> kLookahead = {"longer_limit", "none"};
constexpr std::array<std::string_view, 2> kCut = {"first_spec_group", "every_group"};
constexpr std::array<std::string_view, 3> kRegistration = {
    "at_allocation", "planned_then_published", "at_allocation_hit_at_once"};
constexpr std::array<std::string_view, 2> kSplit = {"every_chunk_on_grid",
                                                    "until_last_cache_position"};
constexpr std::array<std::string_view, 3> kClassing = {"by_meaning", "by_shape",
                                                       "by_shape_past_the_prompt"};
constexpr std::array<std::string_view, 2> kOwner = {"request", "persistent_row"};
constexpr std::array<std::string_view, 2> kOneToken = {"as_is", "padded_with_placeholders"};
constexpr std::array<std::string_view, 2> kNoDraft = {"verify_with_counts", "column_zero"};
constexpr std::array<std::string_view, 2> kUniform = {"by_row_class", "by_shape"};
constexpr std::array<std::string_view, 3> kAllMode = {"remembered_column_and_boundary_copies",
                                                      "full_steps_remembered_no_copies",
                                                      "computed_column_no_copies"};

constexpr std::array<std::string_view, 2> kStale = {"dropped_by_run", "discard_by_token_count"};
constexpr std::array<std::string_view, 2> kLanding = {"after_row_moves", "before_row_moves"};
constexpr std::array<std::string_view, 3> kRowOrder = {"decodes_then_query_len", "query_len",
                                                       "drafts_then_query_len"};
constexpr std::array<std::string_view, 2> kInitialColumn = {"mamba_block_size",
                                                            "cache_config_block_size"};
constexpr std::array<std::string_view, 2> kSlotReset = {"every_mode", "align_only"};
constexpr std::array<std::string_view, 2> kDeferred = {"wait_for_the_frame", "preempt_on"};
constexpr std::array<std::string_view, 2> kResumedStateColumn = {"forgotten", "remembered"};
constexpr std::array<std::string_view, 2> kPostCopyBlockTable = {"of_each_group", "of_first_group"};
constexpr std::array<std::string_view, 2> kBackwardPostCopy = {"made", "suppressed"};
constexpr std::array<std::string_view, 2> kAcceptedCountReset = {"separate_output", "in_place"};
constexpr std::array<std::string_view, 2> kPaddedPromptToken = {"of_the_prompt", "last_sampled"};
constexpr std::array<std::string_view, 2> kReturningDrafts = {"scattered", "placeholders"};
constexpr std::array<std::string_view, 2> kAcceptedCountRead = {"after_the_copy",
                                                                "before_the_copy"};
constexpr std::array<std::string_view, 2> kRunningColumn = {"of_exact_count",
                                                            "of_optimistic_count"};
constexpr std::array<std::string_view, 2> kGdnTokenPartition = {"stable", "unstable"};
constexpr std::array<std::string_view, 2> kGdnGates = {"gathered", "in_batch_order"};
constexpr std::array<std::string_view, 2> kConvRoll = {"row_length", "window_length"};
constexpr std::array<std::string_view, 2> kNullRows = {"skipped", "run"};
constexpr std::array<std::string_view, 2> kSameBlockShift = {"memmove", "last_position_first"};
constexpr std::array<std::string_view, 2> kPaddingPrefilling = {"cleared", "left_over"};
constexpr std::array<std::string_view, 2> kReusedMetadata = {"every_array", "state_indices_only"};
constexpr std::array<std::string_view, 2> kDummyRunTables = {"zeroed", "left_over"};

constexpr std::string_view kFromProfile = "the profile's";

// Choices stand in the order of their enums.
constexpr std::array kTable = {
    choice<&S::mamba_cache_mode>(
        {"", "mamba_cache_mode", kModes,
         "all if the model has it, else align; none without prefix caching",
         "where recurrent states are kept for reuse"}),
    integer<&S::tensor_parallel_size>(
        {"", "tensor_parallel_size", 1, 1024, "1", "ranks that share each layer"}),
    byte_size<&S::kv_cache_memory_bytes>({"", "kv_cache_memory_bytes", 1, kMaxInt64,
                                          "60GiB (at most 1048576 blocks)",
                                          "memory of the block pool on one rank"}),
    integer<&S::num_gpu_blocks_override>({"", "num_gpu_blocks_override", 2, 1 << 28,
                                          "from kv_cache_memory_bytes",
                                          "blocks in the pool, the null block included"}),
    integer<&S::block_size>({"", "block_size", 1, 1 << 20, "from the model's page size",
                             "tokens in an attention block"}),
    integer<&S::mamba_block_size>({"", "mamba_block_size", 1, 1 << 20, "from block_size",
                                   "tokens between two stored states in mode all"}),
    integer<&S::max_model_len>(
        {"", "max_model_len", 2, kMaxTokens, "the model's", "longest sequence in tokens"}),
    choice<&S::mamba_cache_dtype>(
        {"", "mamba_cache_dtype", kDtypes, "auto", "dtype of conv states"}),
    choice<&S::mamba_ssm_cache_dtype>(
        {"", "mamba_ssm_cache_dtype", kDtypes, "auto", "dtype of recurrent states"}),
    choice<&S::ssm_conv_state_layout>(
        {"", "ssm_conv_state_layout", kLayouts, "SD", "order of a conv state's dimensions"}),
    integer<&S::max_num_seqs>({"", "max_num_seqs", 1, 65536, "256, at most the blocks in the pool",
                               "requests that run together"}),
    integer<&S::max_num_batched_tokens>(
        {"", "max_num_batched_tokens", 1, kMaxTokens, "8192", "tokens of one step"}),
    integer<&S::long_prefill_token_threshold>({"", "long_prefill_token_threshold", 0, kMaxTokens,
                                               "0 (off)",
                                               "most tokens one request gets in a step"}),
    boolean<&S::enable_chunked_prefill>(
        {"", "enable_chunked_prefill", "true", "may a prompt be split over steps"}),
    boolean<&S::enable_prefix_caching>({"", "enable_prefix_caching", "true; false in mode none",
                                        "are computed blocks found again"}),
    choice<&S::scheduling_policy>({"", "scheduling_policy", kSchedulingPolicies, "fcfs",
                                   "who runs first and who is preempted"}),
    fraction<&S::watermark>(
        {"", "watermark", "0", "part of the blocks kept free when a request is admitted"}),
    boolean<&S::scheduler_reserve_full_isl>({"", "scheduler_reserve_full_isl", "true",
                                             "admit a request only if its whole prompt fits"}),
    boolean<&S::async_scheduling>({"", "async_scheduling", "true; false with method ngram",
                                   "is a step scheduled while the one before is in flight"}),
    boolean<&S::kv_consumer>({"", "kv_consumer", "false",
                              "does a KV connector write blocks outside the stream of frames"}),
    integer<&S::data_parallel_size>(
        {"", "data_parallel_size", 1, 1024, "1",
         "ranks in lock-step; with more than one a step that schedules nothing is a dummy run"}),
    choice<&S::runner>({"", "runner", kRunners, "v1, the reference's choice for every hybrid model",
                        "model runner: v1 keeps a batch of rows, v2 a slot a request"}),
    choice<&S::attention_backend>({"", "attention_backend", kBackends, "flash_attn_3",
                                   "whose metadata builder limits full graphs"}),
    choice<&S::speculative_method>({"speculative_config", "method", kMethods,
                                    "mtp if num_speculative_tokens is set, else none",
                                    "who drafts tokens"}),
    integer<&S::num_speculative_tokens>({"speculative_config", "num_speculative_tokens", 0, 64, "0",
                                         "drafts a request a step (K)"}),
    fraction<&S::acceptance_rate>(
        {"", "acceptance_rate", "0.7", "chance that a draft is accepted after those before it"}),
    integer<&S::seed>({"", "seed", 0, kMaxInt64, "0", "names all draws and generated tokens"}),
    integer<&S::optimization_level>({"", "optimization_level", 0, 3, "2",
                                     "default graph mode: NONE, PIECEWISE, FULL_AND_PIECEWISE"}),
    choice<&S::cudagraph_mode>({"", "cudagraph_mode", kGraphModes,
                                "FULL_AND_PIECEWISE, from optimization_level",
                                "which batches replay a graph"}),
    integer_list<&S::cudagraph_capture_sizes>({"", "cudagraph_capture_sizes", 1, 1 << 20,
                                               "vLLM's list", "token counts of captured graphs"}),
    integer<&S::max_cudagraph_capture_size>({"", "max_cudagraph_capture_size", 1, 1 << 20,
                                             "2 * (1 + K) * max_num_seqs, at most 512",
                                             "largest size of vLLM's list in tokens"}),
    integer<&S::state_layers>({"", "state_layers", 1, 65536, "all",
                               "layers of each recurrent group whose state a run in bytes keeps"}),
    integer<&S::step_cost_base_us>({"step_cost", "base_us", 0, 1'000'000'000, "20000",
                                    "simulated microseconds of every step"}),
    integer<&S::step_cost_per_token_us>({"step_cost", "per_token_us", 0, 1'000'000, "30",
                                         "simulated microseconds of every scheduled token"}),
    engine_profile({"", "engine", "safe",
                    "profile: safe never corrupts state, pages does what the reference does, "
                    "vllm@DATE has the known bugs of that day"}),
    policy<&PolicyOverrides::mamba_eagle_lookahead>(
        {"policies", "mamba_eagle_lookahead", kLookahead, kFromProfile,
         "does a recurrent group look one block beyond the hit with drafts"}),
    policy<&PolicyOverrides::full_attention_cut>({"policies", "full_attention_cut", kCut,
                                                  kFromProfile,
                                                  "which attention groups are cut to the hit"}),
    policy<&PolicyOverrides::block_registration>({"policies", "block_registration", kRegistration,
                                                  kFromProfile,
                                                  "when a block can be found by others"}),
    policy<&PolicyOverrides::aligned_split>(
        {"policies", "aligned_split", kSplit, kFromProfile, "where chunks of mode align may end"}),
    policy<&PolicyOverrides::row_classing>(
        {"policies", "row_classing", kClassing, kFromProfile, "what makes a row a decode"}),
    policy<&PolicyOverrides::accepted_count_owner>(
        {"policies", "accepted_count_owner", kOwner, kFromProfile,
         "does the accepted count survive a skipped step"}),
    policy<&PolicyOverrides::one_token_prompt>({"policies", "one_token_prompt", kOneToken,
                                                kFromProfile,
                                                "is a prompt's last token padded to 1 + K"}),
    policy<&PolicyOverrides::no_draft_step>({"policies", "no_draft_step", kNoDraft, kFromProfile,
                                             "where a row without drafts reads its state"}),
    policy<&PolicyOverrides::uniform_decode_test>({"policies", "uniform_decode_test", kUniform,
                                                   kFromProfile,
                                                   "which batches replay the verify graph"}),
    policy<&PolicyOverrides::all_mode_speculation>(
        {"policies", "all_mode_speculation", kAllMode, kFromProfile,
         "where drafts in mode all read their state, and are boundary states stored"}),
    policy<&PolicyOverrides::stale_frame>(
        {"policies", "stale_frame", kStale, kFromProfile,
         "what becomes of a frame in flight when its request is reset"}),
    policy<&PolicyOverrides::accepted_count_landing>(
        {"policies", "accepted_count_landing", kLanding, kFromProfile,
         "when accepted counts of a frame in flight reach the host's rows"}),
    policy<&PolicyOverrides::deferred_free_refusal>(
        {"policies", "deferred_free_refusal", kDeferred, kFromProfile,
         "wait for blocks of a frame in flight, or preempt somebody"}),
    policy<&PolicyOverrides::row_order>({"policies", "row_order", kRowOrder, kFromProfile,
                                         "runner v2: order of the rows of a step"}),
    policy<&PolicyOverrides::initial_state_column>(
        {"policies", "initial_state_column", kInitialColumn, kFromProfile,
         "runner v2, mode align: in which blocks an admitted request's column is counted"}),
    policy<&PolicyOverrides::slot_count_reset>(
        {"policies", "slot_count_reset", kSlotReset, kFromProfile,
         "runner v2: in which modes an admitted request's accepted count starts at 1"}),
    policy<&PolicyOverrides::resumed_state_column>(
        {"policies", "resumed_state_column", kResumedStateColumn, kFromProfile,
         "runner v1: does a request that is reset and resumed in one step forget its column"}),
    policy<&PolicyOverrides::post_copy_block_table>(
        {"policies", "post_copy_block_table", kPostCopyBlockTable, kFromProfile,
         "whose block ids post-copies of mode align use"}),
    policy<&PolicyOverrides::backward_post_copy>(
        {"policies", "backward_post_copy", kBackwardPostCopy, kFromProfile,
         "are post-copies to a column left of the running one made"}),
    policy<&PolicyOverrides::accepted_count_reset>(
        {"policies", "accepted_count_reset", kAcceptedCountReset, kFromProfile,
         "runner v2: where the post-copy launch writes counts of 1"}),
    policy<&PolicyOverrides::padded_prompt_token>(
        {"policies", "padded_prompt_token", kPaddedPromptToken, kFromProfile,
         "runner v2: first token of a prompt's last row that was padded"}),
    policy<&PolicyOverrides::returning_drafts>(
        {"policies", "returning_drafts", kReturningDrafts, kFromProfile,
         "runner v1: drafts of a request that comes back after a skipped step"}),
    policy<&PolicyOverrides::accepted_count_read>(
        {"policies", "accepted_count_read", kAcceptedCountRead, kFromProfile,
         "runner v1, modes none and all: are counts read before their copy has ended"}),
    policy<&PolicyOverrides::running_column>(
        {"policies", "running_column", kRunningColumn, kFromProfile,
         "runner v1, mode align: which token count gives the pre-copy's column"}),
    policy<&PolicyOverrides::gdn_token_partition>({"policies", "gdn_token_partition",
                                                   kGdnTokenPartition, kFromProfile,
                                                   "token order of a mixed GDN batch"}),
    policy<&PolicyOverrides::gdn_gates>({"policies", "gdn_gates", kGdnGates, kFromProfile,
                                         "are GDN's gates gathered like its tokens"}),
    policy<&PolicyOverrides::conv_roll>({"policies", "conv_roll", kConvRoll, kFromProfile,
                                         "by how much a verify row shifts its conv window"}),
    policy<&PolicyOverrides::null_rows>({"policies", "null_rows", kNullRows, kFromProfile,
                                         "do state kernels skip rows of the null block"}),
    policy<&PolicyOverrides::same_block_shift>(
        {"policies", "same_block_shift", kSameBlockShift, kFromProfile,
         "order in which a conv window moves within its block"}),
    policy<&PolicyOverrides::padding_prefilling>({"policies", "padding_prefilling",
                                                  kPaddingPrefilling, kFromProfile,
                                                  "is_prefilling of padding rows"}),
    policy<&PolicyOverrides::reused_metadata>(
        {"policies", "reused_metadata", kReusedMetadata, kFromProfile,
         "which arrays a group refreshes that reuses another's metadata"}),
    policy<&PolicyOverrides::dummy_run_tables>({"policies", "dummy_run_tables", kDummyRunTables,
                                                kFromProfile,
                                                "data parallel: block tables of dummy runs"}),
};

}  // namespace

std::span<const Setting> settings_table() { return kTable; }

const Setting* find_setting(std::string_view section, std::string_view name) {
  for (const Setting& setting : kTable)
    if (setting.section == section && setting.name == name) return &setting;
  return nullptr;
}

}  // namespace hybridscope
