// A traffic log in words, for tests: one line a request.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sessions/text/name_hash.h"
#include "sessions/traffic/load_traffic.h"
#include "sessions/traffic/traffic.h"

namespace hybridscope::test {

// `text`, a few bytes at a time.
inline TrafficInput input_of(std::string text, std::string file = "t") {
  return {.read = [text = std::move(text),
                   given = std::size_t{0}](std::span<char> into) mutable -> Result<std::size_t> {
            const std::size_t count = std::min({into.size(), std::size_t{7}, text.size() - given});
            std::memcpy(into.data(), text.data() + given, count);
            given += count;
            return count;
          },
          .file = std::move(file)};
}

// "r1 @5 conversation 0: text 9, answer of r0 at 4 for 3 -> 2 tokens, after r0 +7".
inline std::vector<std::string> words_of(const TrafficLog& log) {
  std::map<std::uint64_t, std::string> names;
  for (const LoggedRequest& one : log.requests) names[one.request.key] = one.request.name;
  std::vector<std::string> lines;
  for (const LoggedRequest& one : log.requests) {
    std::string line = one.request.name;
    if (one.arrival_us) line += fmt::format(" @{}", *one.arrival_us);
    line += fmt::format(" in {}:", one.conversation);
    for (const PromptSegment& segment : one.request.prompt)
      line += segment.source == PromptSegment::Source::output
                  ? fmt::format(" {}[{}+{}]", names[segment.content], segment.first, segment.length)
                  : fmt::format(" {}", segment.length);
    line += fmt::format(" -> {}", one.request.max_tokens);
    for (const std::int32_t other : one.after)
      line += " after " + log.requests[static_cast<std::size_t>(other)].request.name;
    if (one.delay_us > 0) line += fmt::format(" +{}", one.delay_us);
    lines.push_back(line);
  }
  return lines;
}

// The words, or the error's message alone.
inline std::vector<std::string> words_of(const Result<TrafficLog>& log) {
  return log.ok() ? words_of(log.value()) : std::vector{log.error().message};
}

}  // namespace hybridscope::test
