#include "sessions/traffic/conversation_history.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/math.h"
#include "sessions/scenario/arriving_request.h"
#include "sessions/scenario/scenario.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {

std::int64_t tokens_of_text(std::string_view text) {
  return cdiv(static_cast<std::int64_t>(text.size()), std::int64_t{kBytesOfAToken});
}

std::vector<TextPiece> pieces_of_text(std::string_view text) {
  constexpr std::size_t kPieceBytes = std::size_t{kTextPieceTokens} * kBytesOfAToken;
  std::vector<TextPiece> pieces;
  for (std::size_t begin = 0; begin < text.size(); begin += kPieceBytes) {
    const std::string_view piece = text.substr(begin, kPieceBytes);
    pieces.push_back({text_content(piece), static_cast<std::int32_t>(piece.size())});
  }
  return pieces;
}

std::vector<PromptSegment> part_of_prompt(const std::vector<PromptSegment>& prompt,
                                          std::int64_t first, std::int64_t end) {
  std::vector<PromptSegment> part;
  std::int64_t start = 0;
  for (const PromptSegment& segment : prompt) {
    const std::int64_t from = std::max(first, start);
    const std::int64_t to = std::min(end, start + segment.length);
    if (from < to) {
      part.push_back(segment);
      part.back().first += static_cast<std::int32_t>(from - start);
      part.back().length = static_cast<std::int32_t>(to - from);
    }
    start += segment.length;
  }
  return part;
}

PromptSegment answer_of(const AddRequest& request, std::int64_t num_prompt_tokens) {
  return {.source = PromptSegment::Source::output,
          .content = request.key,
          .first = static_cast<std::int32_t>(num_prompt_tokens),
          .length = request.max_tokens};
}

void ConversationHistory::add(const PromptSegment& segment) {
  history_.push_back(segment);
  num_tokens_ += segment.length;
}

void ConversationHistory::add_text(std::string_view text) {
  for (const TextPiece& piece : pieces_of_text(text))
    add({.content = piece.content, .length = cdiv(piece.num_bytes, kBytesOfAToken)});
}

Status add_logged(TrafficLog& log, LoggedRequest logged) {
  AddRequest& request = logged.request;
  if (request.prompt.empty()) request.prompt.push_back({.content = text_content(""), .length = 1});
  if (const std::int64_t tokens = num_prompt_tokens(request); tokens > kMaxPromptTokens)
    return invalid_input(
        fmt::format("a prompt of {} tokens (expected at most {})", tokens, kMaxPromptTokens));
  log.num_pieces += static_cast<std::int64_t>(request.prompt.size());
  if (log.num_pieces > kMaxTrafficPieces)
    return invalid_input(fmt::format(
        "up to here the prompts have {} pieces (expected at most {}: conversations this long need "
        "too much memory)",
        log.num_pieces, kMaxTrafficPieces));
  request.key = request_key(request.name);
  log.requests.push_back(std::move(logged));
  return Ok{};
}

Status ConversationHistory::ask(TrafficLog& log, AskedTurn turn) {
  LoggedRequest logged{
      .request = {.name = std::move(turn.name), .prompt = history_, .max_tokens = turn.max_tokens},
      .arrival_us = turn.arrival_us,
      .conversation = conversation_};
  if (last_ >= 0) {
    logged.after = {last_};
    logged.delay_us = turn.delay_us;
  }
  last_ = static_cast<std::int32_t>(log.requests.size());
  if (Status added = add_logged(log, std::move(logged)); !added.ok()) return added;
  const AddRequest& asked = log.requests.back().request;
  if (history_.empty()) add(asked.prompt.front());
  add(answer_of(asked, num_tokens_));
  return Ok{};
}

}  // namespace hybridscope
