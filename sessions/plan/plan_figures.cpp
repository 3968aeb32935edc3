#include "sessions/plan/plan_figures.h"

namespace hybridscope {
namespace {

using F = PlanFigures;
using Value = std::int64_t& (*)(F&);

template <std::int64_t F::*kMember>
std::int64_t& plain(F& figures) {
  return figures.*kMember;
}
template <CountOverSteps F::*kCount>
std::int64_t& most_of(F& figures) {
  return (figures.*kCount).most;
}
template <CountOverSteps F::*kCount>
std::int64_t& sum_of(F& figures) {
  return (figures.*kCount).sum;
}
template <BlockKind kKind>
std::int64_t& most_blocks(F& figures) {
  return figures.blocks[static_cast<std::size_t>(kKind)].most;
}
template <BlockKind kKind>
std::int64_t& sum_blocks(F& figures) {
  return figures.blocks[static_cast<std::size_t>(kKind)].sum;
}

template <std::int64_t Percentiles::*kPercentile>
std::int64_t& first_token(F& figures) {
  return figures.latency.first_token.*kPercentile;
}
template <std::int64_t Percentiles::*kPercentile>
std::int64_t& between_tokens(F& figures) {
  return figures.latency.between_tokens.*kPercentile;
}

constexpr PlanFigure kFigures[] = {
    {"steps", &plain<&F::steps>},
    {"request_steps", &plain<&F::request_steps>},
    {"requests_finished", &plain<&F::requests_finished>},
    {"prompt_tokens", &plain<&F::prompt_tokens>},
    {"hit_tokens", &plain<&F::hit_tokens>},
    {"computed_prompt_tokens", &plain<&F::computed_prompt_tokens>},
    {"output_tokens", &plain<&F::output_tokens>},
    {"preemptions", &plain<&F::preemptions>},
    {"lost_tokens", &plain<&F::lost_tokens>},
    {"state_copies", &plain<&F::state_copies>},
    {"state_copy_bytes", &plain<&F::state_copy_bytes>},
    {"graph_padded_tokens", &plain<&F::graph_padded_tokens>},
    {"most_running", &most_of<&F::running>},
    {"running_sum", &sum_of<&F::running>},
    {"most_waiting", &most_of<&F::waiting>},
    {"waiting_sum", &sum_of<&F::waiting>},
    {"most_attention_blocks", &most_blocks<BlockKind::attention>},
    {"attention_blocks_sum", &sum_blocks<BlockKind::attention>},
    {"most_running_state_blocks", &most_blocks<BlockKind::running_state>},
    {"running_state_blocks_sum", &sum_blocks<BlockKind::running_state>},
    {"most_draft_blocks", &most_blocks<BlockKind::draft>},
    {"draft_blocks_sum", &sum_blocks<BlockKind::draft>},
    {"most_snapshot_blocks", &most_blocks<BlockKind::snapshot>},
    {"snapshot_blocks_sum", &sum_blocks<BlockKind::snapshot>},
    {"most_used_blocks", &most_of<&F::used_blocks>},
    {"used_blocks_sum", &sum_of<&F::used_blocks>},
    {"most_cached_blocks", &most_of<&F::cached_blocks>},
    {"cached_blocks_sum", &sum_of<&F::cached_blocks>},
    {"worst_step", &plain<&F::worst_step>},
    {"span_us", [](F& f) -> std::int64_t& { return f.latency.span_us; }, true},
    {"first_token_p50_us", &first_token<&Percentiles::p50_us>, true},
    {"first_token_p90_us", &first_token<&Percentiles::p90_us>, true},
    {"first_token_p99_us", &first_token<&Percentiles::p99_us>, true},
    {"between_tokens_p50_us", &between_tokens<&Percentiles::p50_us>, true},
    {"between_tokens_p90_us", &between_tokens<&Percentiles::p90_us>, true},
    {"between_tokens_p99_us", &between_tokens<&Percentiles::p99_us>, true},
};

}  // namespace

std::span<const PlanFigure> plan_figures() { return kFigures; }

}  // namespace hybridscope
