// The conv windows of one state copy, position by position: which tokens the source block holds,
// which of them move, and what the destination holds afterwards (semantics: decode-conv).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hybridscope {

enum class ConvHolds : std::uint8_t {
  before_first,  // zeros: there is no token 0
  token,         // of the prompt or the output
  accepted,      // a draft of this step that became output
  rejected,      // a draft that did not
  left_over,     // what stood there before is not tracked here; nobody reads it
  not_known,     // other tokens than the decision takes them for, or that is not told
};
inline constexpr std::size_t kNumConvHolds = 6;
// "token", "rejected draft", "not tracked".
std::string_view conv_holds_name(ConvHolds holds);

struct ConvPosition {
  ConvHolds holds = ConvHolds::left_over;
  std::int32_t token = 0;  // number from 1; 0 where it is before_first or left_over
  bool copied = false;     // source: it moves; destination: it came with the copy
  bool in_window = false;  // one of the W - 1 tokens that whoever continues reads
  friend bool operator==(const ConvPosition&, const ConvPosition&) = default;
};

struct ConvCopy {
  std::int32_t bias = 0;                  // position bias + i goes to position i
  std::vector<ConvPosition> source;       // [W - 1 + K] before the copy
  std::vector<ConvPosition> destination;  // [W - 1 + K] after it
};

// What is known of the source when the copy is made.
struct ConvCopyTerms {
  std::int32_t conv_kernel = 4;             // W
  std::int32_t num_speculative_tokens = 0;  // K
  std::int32_t accept_token_bias = 0;
  std::int32_t num_tokens = 0;          // n: the copy is to leave S(n) in the destination
  std::int32_t num_real_tokens = 0;     // tokens up to this number were no drafts
  std::int32_t num_accepted_up_to = 0;  // drafts up to this number were accepted
  std::int32_t last_written = 0;        // number of the last token that was written to the source
  bool same_block = false;              // the destination is the source
  bool tokens_known = true;             // false: it does not hold the tokens that follow from n
};

// Position bias + W - 2 of the source holds token n, its neighbours the tokens next to it.
// Requires: 0 <= accept_token_bias <= W - 1 + K.
ConvCopy make_conv_copy(const ConvCopyTerms& terms);

}  // namespace hybridscope
