// The formats of traffic files (docs/traffic.md): how each is recognised by `head`, the beginning
// of a file, and read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/text/json_value.h"
#include "sessions/traffic/load_traffic.h"
#include "sessions/traffic/traffic.h"

namespace hybridscope {

// The BurstGPT traces: CSV with times and numbers of tokens (docs/traffic.md, "burstgpt").

bool is_burstgpt(std::string_view head);

// The request of line n (the header is line 1) is called "rN"; times count from the earliest. Error
// corrupt "FILE:LINE: ...".
Result<TrafficLog> read_burstgpt(TrafficInput input);

// Real traffic in the format of the Mooncake traces: JSON Lines, one request a line, whose prompt
// is a list of block ids (docs/traffic.md, "mooncake").

inline constexpr std::int32_t kTrafficBlockTokens = 512;  // prompt tokens per hash id

bool is_mooncake(std::string_view head);

// Token j of block h is token j of text h. The request of line n (counted from 1) is called "rN".
// Error corrupt with "FILE:LINE: ...", or LINE:COLUMN when the text is not JSON.
Result<TrafficLog> read_mooncake(TrafficInput input);

// Mooncake rows with sessions, dependencies and waits: the format that AIPerf and Dynamo replay
// (docs/traffic.md, "mooncake-sessions").

// One row of mooncake-sessions.
struct MooncakeRow {
  int line = 1;
  std::string request_id;  // empty: none
  std::string session_id;  // empty: none
  std::int32_t input_length = 1;
  std::int32_t output_length = 1;
  std::vector<std::uint64_t> hash_ids;  // empty: none
  std::optional<std::int64_t> arrival_us;
  std::int64_t delay_us = 0;          // delay and tool_wait_ms
  std::vector<std::string> wait_for;  // request ids
};

// Fails for what is missing or of another type; keys that say nothing about load are not looked at.
MooncakeRow read_mooncake_row(const JsonValue& json);

// Blocks of which a number of ids tells the size: L tokens have n ids if there are L / n to
// (L - 1) / (n - 1) tokens in a block.
class BlockSizes {
 public:
  // False: no size goes with this row and those before it.
  bool take(std::int64_t num_tokens, std::int64_t num_ids);
  // 512, as in Mooncake's traces, if it goes with all rows; else the largest power of two that
  // does; else the smallest size.
  std::int32_t size() const;
  std::int64_t least() const { return least_; }
  std::int64_t most() const { return most_; }

 private:
  std::int64_t least_ = 1;
  std::int64_t most_ = std::int64_t{1} << 24;
};

bool is_mooncake_sessions(std::string_view head);

// The request of line n is called "rN". Error corrupt "FILE:LINE: ...".
Result<TrafficLog> read_mooncake_sessions(TrafficInput input);

// Request logs in the style of the OpenAI API: JSON Lines with the request, and with the response
// if it was logged (docs/traffic.md, "openai-log").

inline constexpr std::int32_t kAssumedOutputTokens = 256;  // of a request whose log says none

bool is_openai_log(std::string_view head);

// The request of line n is called "rN"; times count from the earliest. A request whose messages
// begin with those of an earlier one and go on with its answer is a later turn of its conversation.
// Error corrupt "FILE:LINE: ...".
Result<TrafficLog> read_openai_log(TrafficInput input);

// Conversations as texts, as the ShareGPT data sets have them (docs/traffic.md, "sharegpt").

bool is_sharegpt(std::string_view head);

// Turn k of the file's n-th conversation (both counted from 1) is called "cN.tK". A file of any
// size is read with one conversation in memory besides the prompts. Error corrupt "FILE:LINE: ...",
// where LINE is that in which the conversation begins.
Result<TrafficLog> read_sharegpt(TrafficInput input);

// Result files of `vllm bench serve` (docs/traffic.md, "vllm-bench").

bool is_vllm_bench(std::string_view head);

// Request n of the arrays (counted from 1) is called "rN"; times count from the earliest. Error
// corrupt "FILE:LINE: ..."; a result without the lengths of its requests names the option that
// writes them.
Result<TrafficLog> read_vllm_bench(TrafficInput input);

// One line of a request log in OpenAI's style, as values.

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
