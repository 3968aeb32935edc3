// The conv windows of a state copy, position by position.
#include <array>

#include "core/base/check.h"
#include "gui/model/state_copies_model.h"

namespace hybridscope {

std::string_view conv_holds_name(ConvHolds holds) {
  constexpr std::array<std::string_view, kNumConvHolds> kNames = {
      "before token 1", "token", "accepted draft", "rejected draft", "not tracked", "not known"};
  return kNames[static_cast<std::size_t>(holds)];
}

namespace {

ConvPosition position_of(const ConvCopyTerms& terms, std::int32_t token) {
  if (!terms.tokens_known) return {.holds = ConvHolds::not_known};
  if (token > terms.last_written) return {};
  if (token <= 0) return {.holds = ConvHolds::before_first};
  if (token <= terms.num_real_tokens) return {.holds = ConvHolds::token, .token = token};
  return {.holds = token <= terms.num_accepted_up_to ? ConvHolds::accepted : ConvHolds::rejected,
          .token = token};
}

}  // namespace

ConvCopy make_conv_copy(const ConvCopyTerms& terms) {
  const std::int32_t length = terms.conv_kernel - 1 + terms.num_speculative_tokens;
  const std::int32_t bias = terms.accept_token_bias;
  HS_EXPECT(bias >= 0 && bias <= length);
  const std::int32_t first = terms.num_tokens - (terms.conv_kernel - 2) - bias;
  ConvCopy copy{.bias = bias, .source = {}, .destination = {}};
  for (std::int32_t i = 0; i < length; ++i) {
    ConvPosition position = position_of(terms, first + i);
    position.copied = i >= bias;
    position.in_window = i >= bias && i < bias + terms.conv_kernel - 1;
    copy.source.push_back(position);
  }
  for (std::int32_t i = 0; i < length; ++i) {
    const bool copied = i + bias < length;
    ConvPosition position;
    if (copied)
      position = copy.source[static_cast<std::size_t>(i + bias)];
    else if (terms.same_block)
      position = copy.source[static_cast<std::size_t>(i)];
    position.copied = copied;
    position.in_window = i < terms.conv_kernel - 1;
    copy.destination.push_back(position);
  }
  return copy;
}

}  // namespace hybridscope
