#include "sessions/traffic/traffic_formats.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/math.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/number_words.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {
namespace {

constexpr std::uint64_t kMessagesSeed = 0x6D65737361676573ULL;  // "messages"
constexpr std::uint64_t kPiecesSeed = 0x7069656365733634ULL;    // "pieces64"

// A piece of a prompt before its tokens are counted.
struct OpenAiPiece {
  TextPiece text;
  std::optional<PromptSegment> answer;  // instead of a text: what an earlier request generated
};

// A request that was read: what later ones may go on from.
struct OpenAiTurn {
  std::int64_t num_prompt_tokens = 0;
  std::optional<std::string> answer;
};

class OpenAiLogReader {
 public:
  // `number`: of the line.
  Status take(OpenAiLine line, int number) {
    if (!line.failed) return add(std::move(line), number);
    ++num_failed_;
    return Ok{};
  }

  Result<TrafficLog> log(const std::string& file) {
    if (log_.requests.empty()) return no_request(file);
    finish();
    return std::move(log_);
  }

 private:
  struct Prompt {
    std::vector<OpenAiPiece> pieces;
    std::uint64_t messages = 0;  // names the list of messages
    std::int32_t follows = -1;   // the last request of which it holds the answer
  };

  // An assistant's message behind exactly the messages of an earlier request is that one's answer.
  Prompt prompt_of(const std::vector<OpenAiMessage>& messages) const {
    Prompt prompt;
    std::uint64_t before = kMessagesSeed;
    for (const OpenAiMessage& message : messages) {
      const auto asked = message.role == "assistant" ? asked_.find(before) : asked_.end();
      const OpenAiTurn* turn =
          asked == asked_.end() ? nullptr : &turns_[static_cast<std::size_t>(asked->second)];
      if (turn != nullptr && (!turn->answer || *turn->answer == message.text)) {
        prompt.follows = asked->second;
        const AddRequest& request = log_.requests[static_cast<std::size_t>(asked->second)].request;
        prompt.pieces.push_back({.text = {.content = request.key},
                                 .answer = answer_of(request, turn->num_prompt_tokens)});
      } else {
        for (TextPiece piece : pieces_of_text(message.text)) {
          piece.content = mix(text_content(message.role), piece.content);
          prompt.pieces.push_back({piece, {}});
        }
      }
      before = mix(mix(before, text_content(message.role)), text_content(message.text));
    }
    prompt.messages = before;
    return prompt;
  }

  // The beginning that an earlier prompt had has the tokens that it had there, so that they are
  // shared; the rest has what is left of `wanted`, by bytes.
  std::vector<PromptSegment> count_tokens(const Prompt& prompt,
                                          std::optional<std::int64_t> wanted) {
    std::vector<PromptSegment> segments;
    const auto add = [&](const OpenAiPiece& piece, std::int64_t tokens) {
      if (tokens > 0)
        segments.push_back(
            {.content = piece.text.content, .length = static_cast<std::int32_t>(tokens)});
    };
    std::uint64_t before = kPiecesSeed;
    std::size_t i = 0;
    std::int64_t known = 0;
    const auto named = [&](const OpenAiPiece& piece) {
      return mix(mix(before, piece.text.content), piece.answer ? 1 : 0);
    };
    for (; i < prompt.pieces.size(); ++i) {
      const OpenAiPiece& piece = prompt.pieces[i];
      const auto found = tokens_of_.find(named(piece));
      if (found == tokens_of_.end() && !piece.answer) break;
      const std::int64_t tokens = piece.answer ? piece.answer->length : found->second;
      if (piece.answer)
        segments.push_back(*piece.answer);
      else
        add(piece, tokens);
      known += tokens;
      before = named(piece);
    }
    std::int64_t bytes = 0;
    std::int64_t answers = 0;
    for (std::size_t k = i; k < prompt.pieces.size(); ++k) {
      bytes += prompt.pieces[k].text.num_bytes;
      if (prompt.pieces[k].answer) answers += prompt.pieces[k].answer->length;
    }
    const std::int64_t left = wanted.value_or(0) - known - answers;
    const bool scaled = wanted && left > 0 && bytes > 0;
    std::int64_t bytes_before = 0;
    for (; i < prompt.pieces.size(); ++i) {
      const OpenAiPiece& piece = prompt.pieces[i];
      const std::int64_t bytes_behind = bytes_before + piece.text.num_bytes;
      const std::int64_t tokens = scaled ? left * bytes_behind / bytes - left * bytes_before / bytes
                                         : cdiv(piece.text.num_bytes, kBytesOfAToken);
      before = named(piece);
      if (piece.answer) {
        segments.push_back(*piece.answer);
        continue;
      }
      tokens_of_.emplace(before, static_cast<std::int32_t>(tokens));
      add(piece, tokens);
      bytes_before = bytes_behind;
    }
    return segments;
  }
  std::int32_t output_tokens(const OpenAiLine& line) {
    std::int64_t tokens = kAssumedOutputTokens;
    if (line.completion_tokens)
      tokens = *line.completion_tokens;
    else if (line.answer)
      tokens = tokens_of_text(*line.answer);
    else if (line.max_tokens)
      tokens = *line.max_tokens;
    else
      ++num_without_max_;
    return static_cast<std::int32_t>(std::min<std::int64_t>(tokens, kMaxOutputTokens));
  }

  Status add(OpenAiLine line, int number) {
    const Prompt prompt = prompt_of(line.messages);
    const auto index = static_cast<std::int32_t>(log_.requests.size());
    LoggedRequest logged{.request = {.name = fmt::format("r{}", number),
                                     .prompt = count_tokens(prompt, line.prompt_tokens),
                                     .max_tokens = output_tokens(line)},
                         .arrival_us = line.time_us,
                         .conversation = index};
    if (prompt.follows >= 0) {
      logged.after = {prompt.follows};
      logged.conversation = log_.requests[static_cast<std::size_t>(prompt.follows)].conversation;
    }
    if (Status added = add_logged(log_, std::move(logged)); !added.ok()) return added;
    const std::int64_t length = num_prompt_tokens(log_.requests.back().request);
    if (line.prompt_tokens && length != *line.prompt_tokens) ++num_other_length_;
    turns_.push_back({.num_prompt_tokens = length, .answer = std::move(line.answer)});
    asked_[prompt.messages] = index;
    return Ok{};
  }

  void finish() {
    count_from_earliest(log_);
    if (num_failed_ > 0)
      log_.notes.push_back(fmt::format("left out because the response is an error: {}",
                                       counted(num_failed_, "request")));
    if (num_without_max_ > 0)
      log_.notes.push_back(fmt::format("no output tokens are logged, so {} are assumed: {}",
                                       kAssumedOutputTokens, counted(num_without_max_, "request")));
    if (num_other_length_ > 0)
      log_.notes.push_back(
          fmt::format("the prompt has another length than the log says, because it shares its "
                      "beginning with an earlier one: {}",
                      counted(num_other_length_, "request")));
  }

  TrafficLog log_;
  std::vector<OpenAiTurn> turns_;                              // [requests of the log]
  std::unordered_map<std::uint64_t, std::int32_t> asked_;      // messages -> request
  std::unordered_map<std::uint64_t, std::int32_t> tokens_of_;  // pieces up to one -> its tokens
  std::int64_t num_failed_ = 0;
  std::int64_t num_without_max_ = 0;   // nothing says how much is generated
  std::int64_t num_other_length_ = 0;  // prompts that cannot have as many tokens as their line says
};

}  // namespace

bool is_openai_log(std::string_view head) {
  return first_object_has_any(
      head, {"messages", "prompt", "request.messages", "request.prompt", "body.messages",
             "body.prompt", "request.body.messages", "request.body.prompt"});
}

Result<TrafficLog> read_openai_log(TrafficInput input) {
  const std::string file = input.file;
  OpenAiLogReader reader;
  const Status read = read_json_lines(
      std::move(input), kMaxJsonBytes, EmptyLines::passed_over,
      [&](const JsonValue& json, int line) { return reader.take(read_openai_line(json), line); });
  if (!read.ok()) return read.error();
  return reader.log(file);
}

}  // namespace hybridscope
