#include "gui/model/meant_state.h"

#include <fmt/core.h>

#include <optional>

namespace hybridscope {
namespace {

// The token of the row, near its first one, whose prefix has the fingerprint; -1: none.
std::int32_t token_of(const RowTruth& truth, std::int32_t row, std::int32_t conv_kernel,
                      Fingerprint prefix) {
  const std::int32_t computed = truth.num_computed_tokens(row);
  for (std::int32_t token = std::max(computed - conv_kernel + 2, 1);
       token <= computed + truth.num_query_tokens(row); ++token)
    if (truth.at(row, token) == prefix) return token;
  return -1;
}

}  // namespace

MeantStates::MeantStates(const ShownRun& run)
    : run_(run), view_(run.view()), has_tokens_(!view_.trace.tokens.empty()) {
  if (has_tokens_) truth_.fold(view_.trace, view_.config.conv_kernel);
}

const StateWrite* MeantStates::write_of(const CopyMeant& meant, ContentKind content) const {
  for (const StateWrite& write : view_.writes)
    if (write.event.kind == meant.kind && write.content == content && write.group == meant.group &&
        write.block == meant.dst_block)
      return &write;
  return nullptr;
}

// Is the write's result the subject of a finding up to this step?
bool MeantStates::is_blamed(std::int32_t block, ContentKind content,
                            const WriteEvent& event) const {
  BlockWrites writes;
  (content == ContentKind::conv ? writes.conv : writes.temporal) = event;
  return run_.block_faults().find(block, writes, view_.trace.step) != nullptr;
}

const Finding* MeantStates::wrong_start(const RowPlace& row) const {
  for (const Finding& finding : view_.findings)
    if (finding.row == row.row && finding.group == row.group &&
        finding.content == ContentKind::temporal &&
        (finding.rule == Rule::running_state_wrong ||
         finding.rule == Rule::read_of_unwritten_block))
      return &finding;
  return nullptr;
}

StateTruth MeantStates::of_block(const RowPlace& row, std::int32_t block, const HeldContent& held,
                                 std::int32_t num_tokens) const {
  if (has_tokens_)
    return held.event.kind != WriteKind::never && held.fingerprint == truth_.at(row.row, num_tokens)
               ? StateTruth::right
               : StateTruth::wrong;
  const bool is_wrong = held.event.num_tokens != num_tokens ||
                        is_blamed(block, ContentKind::temporal, held.event) ||
                        (held.event.step == view_.trace.step && wrong_start(row) != nullptr);
  return is_wrong ? StateTruth::wrong : StateTruth::not_known;
}

CopiedState MeantStates::of_copy(const CopyMeant& meant) const {
  CopiedState copied;
  const StateWrite* temporal = write_of(meant, ContentKind::temporal);
  const StateWrite* conv = write_of(meant, ContentKind::conv);
  if (temporal == nullptr || conv == nullptr) return copied;
  copied.num_tokens = temporal->event.num_tokens;
  bool right = copied.num_tokens == meant.num_tokens &&
               !is_blamed(temporal->block, ContentKind::temporal, temporal->event);
  std::optional<Fingerprint> expected;  // of the prefix of n tokens
  if (has_tokens_ && meant.row >= 0) {
    expected = truth_.at(meant.row, meant.num_tokens);
    right = temporal->fingerprint == *expected;
    copied.last_conv_token =
        token_of(truth_, meant.row, view_.config.conv_kernel, conv->fingerprint);
  } else if (right) {
    expected = temporal->fingerprint;
  }
  copied.temporal = right ? StateTruth::right : StateTruth::wrong;
  if (is_blamed(conv->block, ContentKind::conv, conv->event) ||
      (expected && conv->fingerprint != *expected))
    copied.conv = StateTruth::wrong;
  else if (expected)
    copied.conv = StateTruth::right;
  return copied;
}

std::vector<std::string> copy_faults(const CopiedState& copied, const CopyTerms& terms) {
  const std::int32_t num_tokens = terms.num_tokens;
  const bool temporal = terms.has_temporal && copied.temporal == StateTruth::wrong;
  const bool conv = terms.has_conv && copied.conv == StateTruth::wrong;
  if (num_tokens == 0 && (temporal || conv))
    return {
        "Nothing of the request is computed, so it has to start from zeros, but the copy puts "
        "what another block holds into its block."};
  std::vector<std::string> faults;
  if (temporal)
    faults.push_back(fmt::format("Meant to be S({}), but it holds {}.", num_tokens,
                                 copied.num_tokens == num_tokens
                                     ? fmt::format("the state after {} other tokens", num_tokens)
                                     : fmt::format("S({})", copied.num_tokens)));
  if (conv)
    faults.push_back(fmt::format(
        "The conv window is meant to end with token {}, but {}.", num_tokens,
        copied.last_conv_token == num_tokens ? "does not hold the tokens before it"
        : copied.last_conv_token > 0 ? fmt::format("ends with token {}", copied.last_conv_token)
                                     : "holds other tokens"));
  return faults;
}

}  // namespace hybridscope
