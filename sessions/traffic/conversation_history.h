// Builds the prompts of a conversation: each one is the whole history, and an answer in it is what
// the earlier request generated, so that later turns can hit it. Texts become tokens here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/engine/token_sequence.h"
#include "sessions/traffic/traffic.h"

namespace hybridscope {

// Texts are cut into pieces of as many tokens and shared piece by piece.
inline constexpr std::int32_t kTextPieceTokens = 64;
inline constexpr std::int32_t kBytesOfAToken = 4;  // assumed, of UTF-8 text

// ceil(bytes / 4).
std::int64_t tokens_of_text(std::string_view text);

// A piece of text: its tokens are those of the text that is named by its bytes.
struct TextPiece {
  std::uint64_t content = 0;
  std::int32_t num_bytes = 0;
};
std::vector<TextPiece> pieces_of_text(std::string_view text);

// Tokens [first, end) of a prompt.
std::vector<PromptSegment> part_of_prompt(const std::vector<PromptSegment>& prompt,
                                          std::int64_t first, std::int64_t end);

// The tokens that `request` generates, as a part of later prompts.
PromptSegment answer_of(const AddRequest& request, std::int64_t num_prompt_tokens);

// The most prompt segments that a log may have: 2.4 GB of them. Long conversations have the square
// of their length.
inline constexpr std::int64_t kMaxTrafficPieces = 100'000'000;

// Adds the request to the log, with its key; a prompt without tokens gets one. Error invalid_input:
// a prompt above kMaxPromptTokens, a log above kMaxTrafficPieces.
Status add_logged(TrafficLog& log, LoggedRequest logged);

// What a turn adds besides its prompt.
struct AskedTurn {
  std::string name;
  std::int32_t max_tokens = 1;
  std::optional<std::int64_t> arrival_us = std::nullopt;
  std::int64_t delay_us = 0;  // from the answer before it
};

class ConversationHistory {
 public:
  explicit ConversationHistory(std::int32_t conversation) : conversation_(conversation) {}

  // Appends to the next prompt.
  void add_text(std::string_view text);
  void add(const PromptSegment& segment);
  std::int64_t num_tokens() const { return num_tokens_; }

  // Adds a request to the log that asks with the history as its prompt and waits for the turn
  // before it; its answer becomes part of the history. Errors: those of add_logged().
  Status ask(TrafficLog& log, AskedTurn turn);

 private:
  std::int32_t conversation_;
  std::vector<PromptSegment> history_;
  std::int64_t num_tokens_ = 0;
  std::int32_t last_ = -1;  // index of the last turn in the log
};

}  // namespace hybridscope
