// One line of a request log in OpenAI's style, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sessions/text/json_value.h"

namespace hybridscope {

struct OpenAiMessage {
  std::string role;  // of a prompt that is no chat: "prompt"
  std::string text;  // what the model reads of it; a list of token ids has four bytes a token
};

struct OpenAiLine {
  bool failed = false;                  // the response is an error
  std::optional<std::int64_t> time_us;  // since 1970
  std::vector<OpenAiMessage> messages;  // never empty, unless it failed
  std::optional<std::string> answer;
  std::optional<std::int64_t> prompt_tokens;
  std::optional<std::int64_t> completion_tokens;
  std::optional<std::int64_t> max_tokens;
};

// Fails for what is missing or of another type; keys that it does not know are not looked at.
OpenAiLine read_openai_line(const JsonValue& json);

// "2024-11-27T09:26:07.922519Z", with "+01:00" or a space instead of the T too: microseconds since
// 1970. Without a zone it is UTC. Empty: anything else.
std::optional<std::int64_t> parse_iso_time(std::string_view text);

}  // namespace hybridscope
