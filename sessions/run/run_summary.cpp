#include "sessions/run/run_summary.h"

#include <fmt/core.h>

#include "core/model/state_shape.h"

namespace hybridscope {

ExpectationCheck::ExpectationCheck(const Expectation& expectation) : expectation_(expectation) {
  if (expectation_.findings) seen_.assign(expectation_.findings->size(), 0);
}

bool ExpectationCheck::expects(const Finding& finding, const Names& names) {
  if (!expectation_.findings) return false;
  bool expected = false;
  for (std::size_t i = 0; i < expectation_.findings->size(); ++i) {
    const ExpectedFinding& candidate = (*expectation_.findings)[i];
    if (candidate.rule != rule_info(finding.rule).slug) continue;
    if (candidate.step && *candidate.step != finding.step) continue;
    if (candidate.request &&
        (finding.request.value < 0 || *candidate.request != names.request(finding.request)))
      continue;
    ++seen_[i];
    expected = true;
  }
  // A fault that is expected makes a language model say something else.
  const bool follows = rule_info(finding.rule).evidence == Evidence::numbers;
  return expected || (follows && !expectation_.findings->empty());
}

std::vector<std::string> ExpectationCheck::unmet(const RunSummary& summary) const {
  std::vector<std::string> unmet;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i] > 0) continue;
    const ExpectedFinding& missing = (*expectation_.findings)[i];
    unmet.push_back(
        fmt::format("finding {}{}{} did not occur", missing.rule,
                    missing.step ? fmt::format(" at step {}", *missing.step) : "",
                    missing.request ? fmt::format(" of request {}", *missing.request) : ""));
  }
  if (expectation_.steps && *expectation_.steps != summary.steps)
    unmet.push_back(
        fmt::format("expected {} steps, the run took {}", *expectation_.steps, summary.steps));
  if (expectation_.finished && *expectation_.finished != summary.requests_finished)
    unmet.push_back(fmt::format("expected {} finished requests, got {}", *expectation_.finished,
                                summary.requests_finished));
  return unmet;
}

SummaryBuilder::SummaryBuilder(const EngineConfig& config)
    : conv_state_len_(config.conv_kernel - 1 + config.num_speculative_tokens) {
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    GroupBytes bytes;
    if (group.is_mamba()) {
      const auto layers = static_cast<std::int64_t>(group.layers.size());
      for (const StateTensorSpec& state : std::get<MambaSpec>(group.spec).states) {
        std::int64_t size = dtype_size_bytes(state.dtype) * layers;
        for (const std::int64_t dimension : state.shape) size *= dimension;
        if (state.kind == StateKind::conv)
          bytes.conv_position += size / conv_state_len_;
        else
          bytes.temporal += size;
      }
    }
    bytes_.push_back(bytes);
  }
}

std::int64_t SummaryBuilder::copy_bytes(std::int32_t group, std::int32_t accept_token_bias) const {
  const GroupBytes& bytes = bytes_[static_cast<std::size_t>(group)];
  return bytes.temporal + bytes.conv_position * (conv_state_len_ - accept_token_bias);
}

void SummaryBuilder::add(const StepTrace& trace) {
  ++summary_.steps;
  summary_.request_steps += static_cast<std::int64_t>(trace.scheduled.size());
  summary_.preemptions += static_cast<std::int64_t>(trace.preempted.size());
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    if (scheduled.admission == Admission::new_request)
      summary_.prompt_tokens += scheduled.num_prompt_tokens;
    summary_.prefix_hit_tokens += scheduled.num_hit_tokens;
  }
  for (const CommitTrace& commit : trace.committed) {
    summary_.output_tokens += commit.num_appended_tokens;
    summary_.requests_finished += commit.finished ? 1 : 0;
  }
  for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies}) {
    for (const StateCopyTrace& copy : launch->copies) {
      ++summary_.state_copies;
      summary_.state_copy_bytes += copy_bytes(copy.group, copy.accept_token_bias);
    }
  }
  if (trace.graph.runtime_mode != CUDAGraphMode::none)
    summary_.graph_padded_tokens += trace.graph.num_tokens_padded - trace.num_scheduled_tokens;
}

}  // namespace hybridscope
