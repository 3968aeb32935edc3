#include "sessions/traffic/traffic_formats.h"

#include <fmt/core.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/math.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/json_value.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/shown_text.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {
namespace {

using Names = std::initializer_list<std::string_view>;

// A member under one of its names.
std::optional<JsonValue> named_member(const JsonValue& object, Names names) {
  for (const std::string_view name : names)
    if (const auto found = object.find_non_null(name)) return found;
  return std::nullopt;
}

std::int32_t required_integer(const JsonValue& object, Names names, const IntegerRange& range) {
  const auto member = named_member(object, names);
  if (!member) object.fail(fmt::format("key \"{}\" is missing", *names.begin()));
  return member->int32(range);
}

// Milliseconds, perhaps with a fraction; empty: it is not there.
std::optional<std::int64_t> milliseconds(const JsonValue& object, Names names) {
  constexpr double kUsOfAMs = 1000;
  const auto member = named_member(object, names);
  if (!member) return std::nullopt;
  const double ms =
      member->is_number() ? member->number() : std::numeric_limits<double>::quiet_NaN();
  if (ms >= 0 && ms <= static_cast<double>(kMaxArrivalUs) / kUsOfAMs)
    return std::llround(ms * kUsOfAMs);
  member->expected(fmt::format("milliseconds from 0 to {}", kMaxArrivalUs / 1000));
}

std::string id_of(const JsonValue& id) {
  if (id.is_integer()) return id.dump();
  if (!id.is_string()) id.expected("a string or an integer");
  return id.string();
}

std::string id_at(const JsonValue& object, std::string_view name) {
  const auto id = object.find_non_null(name);
  return id ? id_of(*id) : std::string();
}

}  // namespace

MooncakeRow read_mooncake_row(const JsonValue& json) {
  MooncakeRow row;
  for (const std::string_view key : {"text_input", "messages", "payload", "dependencies"})
    if (const auto other = json.find_non_null(key))
      other->fail(
          "rows of this kind are not read (expected \"input_length\" and, for whom a row waits, "
          "\"wait_for\"; requests as texts are format openai-log)");
  row.request_id = id_at(json, "request_id");
  row.session_id = id_at(json, "session_id");
  row.input_length =
      required_integer(json, {"input_length", "input_tokens"}, {1, kMaxPromptTokens});
  row.output_length =
      required_integer(json, {"output_length", "output_tokens"}, {0, kMaxOutputTokens});
  row.arrival_us = milliseconds(json, {"timestamp", "created_time"});
  row.delay_us = milliseconds(json, {"delay", "delay_ms"}).value_or(0) +
                 milliseconds(json, {"tool_wait_ms"}).value_or(0);
  if (const auto waits = json.find_non_null("wait_for"))
    for (const JsonValue& id : waits->elements()) row.wait_for.push_back(id_of(id));
  if (const auto ids = json.find_non_null("hash_ids"))
    ids->each_element([&](const JsonValue& id) {
      row.hash_ids.push_back(static_cast<std::uint64_t>(id.int64({0, INT64_MAX})));
    });
  return row;
}

bool BlockSizes::take(std::int64_t num_tokens, std::int64_t num_ids) {
  least_ = std::max(least_, cdiv(num_tokens, num_ids));
  if (num_ids > 1) most_ = std::min(most_, (num_tokens - 1) / (num_ids - 1));
  return least_ <= most_;
}

std::int32_t BlockSizes::size() const {
  if (least_ <= kTrafficBlockTokens && kTrafficBlockTokens <= most_) return kTrafficBlockTokens;
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most_)));
  return static_cast<std::int32_t>(power >= least_ ? power : least_);
}

namespace {

constexpr std::size_t kMaxRowBytes = std::size_t{16} << 20;

class MooncakeSessions {
 public:
  explicit MooncakeSessions(std::string file) : file_(std::move(file)) {}

  // In the order of the file.
  Status take(MooncakeRow row) {
    const auto index = static_cast<std::int32_t>(rows_.size());
    const auto num_ids = static_cast<std::int64_t>(row.hash_ids.size());
    if (num_ids > 0) {
      const std::int64_t least = sizes_.least();
      const std::int64_t most = sizes_.most();
      if (!sizes_.take(row.input_length, num_ids))
        return invalid_input(
            fmt::format("/hash_ids: {} ids for {} tokens (expected blocks of {} to {} tokens, as "
                        "the lines before have)",
                        num_ids, row.input_length, least, most));
    }
    std::int32_t before = -1;
    if (!row.session_id.empty()) {
      const auto [last, is_first] = last_of_session_.try_emplace(row.session_id, index);
      if (!is_first) before = std::exchange(last->second, index);
    }
    std::vector<std::int32_t> after;
    for (const std::string& id : row.wait_for) {
      const auto found = by_id_.find(id);
      if (found == by_id_.end())
        return invalid_input(fmt::format("/wait_for: no line before this one has the request_id {}",
                                         quoted_text(id)));
      after.push_back(found->second);
    }
    if (row.wait_for.empty() && before >= 0) after.push_back(before);
    if (!row.request_id.empty() && !by_id_.emplace(row.request_id, index).second)
      return invalid_input(
          fmt::format("/request_id: {} is there twice", quoted_text(row.request_id)));
    // Whoever waits for a while after others has no time of its own.
    if (!row.wait_for.empty() || (before >= 0 && row.delay_us > 0)) row.arrival_us.reset();
    joined_.push_back(index);
    std::vector<std::int32_t> joins = after;
    if (before >= 0) joins.push_back(before);
    for (const std::int32_t other : joins) {
      const std::int32_t mine = conversation_of(index);
      const std::int32_t theirs = conversation_of(other);
      joined_[static_cast<std::size_t>(std::max(mine, theirs))] = std::min(mine, theirs);
    }
    after_.push_back(std::move(after));
    before_.push_back(before);
    rows_.push_back(std::move(row));
    return Ok{};
  }

  Result<TrafficLog> log() {
    if (rows_.empty()) return no_request(file_);
    bool has_ids = false;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      has_ids = has_ids || !rows_[i].hash_ids.empty();
      if (Status built = build(i); !built.ok()) return built.error();
    }
    if (has_ids)
      log_.notes.push_back(fmt::format("a hash id is taken for {} tokens", sizes_.size()));
    return std::move(log_);
  }

 private:
  Status build(std::size_t index) {
    const MooncakeRow& row = rows_[index];
    const std::int32_t before = before_[index];
    LoggedRequest logged{
        .request = {.name = fmt::format("r{}", row.line), .max_tokens = row.output_length},
        .arrival_us = row.arrival_us,
        .conversation = conversation_of(static_cast<std::int32_t>(index)),
        .after = after_[index],
        .delay_us = row.delay_us};
    AddRequest& request = logged.request;
    if (row.hash_ids.empty()) {
      if (before >= 0) request.prompt = sequence_at(before);
      request.prompt.push_back({.content = text_content(request.name), .length = row.input_length});
    } else {
      request.prompt = prompt_of_ids(row, before);
    }
    const Status added = add_logged(log_, std::move(logged));
    if (added.ok()) return added;
    return Error{ErrorKind::corrupt,
                 fmt::format("{}:{}: {}", file_, row.line, added.error().message)};
  }

  // A block that no earlier row has holds what the turn before has there, answer included, and then
  // the text that its id names. Wherever the id comes again the block holds the same.
  std::vector<PromptSegment> prompt_of_ids(const MooncakeRow& row, std::int32_t before) const {
    const std::int32_t size = sizes_.size();
    std::vector<PromptSegment> history;
    std::int64_t num_history = 0;
    if (continues(row, before)) {
      history = sequence_at(before);
      for (const PromptSegment& segment : history) num_history += segment.length;
    }
    std::vector<PromptSegment> prompt;
    for (std::size_t i = 0; i < row.hash_ids.size(); ++i) {
      const std::int64_t first = static_cast<std::int64_t>(i) * size;
      const std::int64_t end = std::min<std::int64_t>(first + size, row.input_length);
      const auto [block, is_new] = blocks_.try_emplace(row.hash_ids[i]);
      if (is_new && first < num_history)
        block->second = part_of_prompt(history, first, std::min(end, num_history));
      std::int64_t held = 0;
      for (const PromptSegment& segment : part_of_prompt(block->second, 0, end - first)) {
        prompt.push_back(segment);
        held += segment.length;
      }
      if (held < end - first)
        prompt.push_back({.content = row.hash_ids[i],
                          .first = static_cast<std::int32_t>(held),
                          .length = static_cast<std::int32_t>(end - first - held)});
    }
    return prompt;
  }

  // Is the prompt of `before`, and then its answer, the beginning of the row's prompt? As far as
  // the ids of whole blocks tell.
  bool continues(const MooncakeRow& row, std::int32_t before) const {
    if (before < 0) return false;
    const MooncakeRow& other = rows_[static_cast<std::size_t>(before)];
    const auto whole = static_cast<std::size_t>(other.input_length / sizes_.size());
    return !other.hash_ids.empty() && row.hash_ids.size() >= whole &&
           std::int64_t{row.input_length} >=
               std::int64_t{other.input_length} + std::max(other.output_length, 1) &&
           std::equal(other.hash_ids.begin(),
                      other.hash_ids.begin() + static_cast<std::ptrdiff_t>(whole),
                      row.hash_ids.begin());
  }

  // Prompt and answer.
  std::vector<PromptSegment> sequence_at(std::int32_t index) const {
    return sequence_of(log_.requests[static_cast<std::size_t>(index)].request);
  }
  // The first row of the row's conversation.
  std::int32_t conversation_of(std::int32_t index) {
    auto at = static_cast<std::size_t>(index);
    while (joined_[at] != static_cast<std::int32_t>(at)) {
      joined_[at] = joined_[static_cast<std::size_t>(joined_[at])];
      at = static_cast<std::size_t>(joined_[at]);
    }
    return static_cast<std::int32_t>(at);
  }

  std::string file_;
  BlockSizes sizes_;
  std::vector<MooncakeRow> rows_;
  std::vector<std::vector<std::int32_t>> after_;  // [rows]
  std::vector<std::int32_t> before_;              // [rows] the session's row before it, -1: none
  std::vector<std::int32_t> joined_;              // [rows] of one conversation: a row before it
  std::unordered_map<std::string, std::int32_t> by_id_;
  std::unordered_map<std::string, std::int32_t> last_of_session_;
  // What a block holds; with no segment, the text that its id names.
  mutable std::unordered_map<std::uint64_t, std::vector<PromptSegment>> blocks_;
  TrafficLog log_;
};

}  // namespace

bool is_mooncake_sessions(std::string_view head) {
  // A first turn may have none of the keys that its followers have.
  const auto is_of_session = [](std::string_view row) {
    return first_object_has_any(
        row, {"session_id", "delay", "delay_ms", "wait_for", "request_id", "tool_wait_ms"});
  };
  return first_object_has_any(head, {"input_length", "input_tokens"}) &&
         (std::ranges::any_of(split_text(head, '\n'), is_of_session) ||
          !first_object_has_all(head, {"hash_ids", "timestamp"}));
}

Result<TrafficLog> read_mooncake_sessions(TrafficInput input) {
  MooncakeSessions sessions(input.file);
  const Status read = read_json_lines(std::move(input), kMaxRowBytes, EmptyLines::passed_over,
                                      [&](const JsonValue& json, int line) {
                                        MooncakeRow row = read_mooncake_row(json);
                                        row.line = line;
                                        return sessions.take(std::move(row));
                                      });
  if (!read.ok()) return read.error();
  return sessions.log();
}

}  // namespace hybridscope
