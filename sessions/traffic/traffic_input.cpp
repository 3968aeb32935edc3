#include "sessions/traffic/traffic_input.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace hybridscope {
namespace {

struct Head {
  std::string text;
  std::size_t given = 0;  // bytes of the text that were read again
  std::optional<Error> error;
  ReadBytes read;
};

Result<std::size_t> read_again(Head& head, std::span<char> into) {
  if (head.given < head.text.size()) {
    const std::size_t count = std::min(into.size(), head.text.size() - head.given);
    std::memcpy(into.data(), head.text.data() + head.given, count);
    head.given += count;
    return count;
  }
  if (head.error) return *head.error;
  return head.read(into);
}

constexpr std::string_view kJsonSpace = " \t\r\n";

// Removes a string with its quotes from the front and returns what is between them, escapes as they
// are.
std::string_view take_quoted(std::string_view& text) {
  std::size_t end = 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  const std::string_view inside = text.substr(1, std::min(end, text.size()) - 1);
  text.remove_prefix(std::min(end + 1, text.size()));
  return inside;
}

struct OpenContainer {
  bool is_array = false;
  std::string path;  // "request.", or nothing outermost
};

}  // namespace

std::vector<std::string> keys_of_first_object(std::string_view head) {
  std::vector<std::string> keys;
  std::vector<OpenContainer> open;
  int arrays = 0;  // open ones
  head.remove_prefix(std::min(head.find_first_not_of(kJsonSpace), head.size()));
  if (!head.starts_with('{')) return keys;
  while (!head.empty()) {
    const char byte = head.front();
    if (byte == '"') {
      const std::string_view text = take_quoted(head);
      const std::size_t next = head.find_first_not_of(kJsonSpace);
      if (arrays == 0 && next != std::string_view::npos && head[next] == ':')
        keys.push_back(open.back().path + std::string(text));
      continue;
    }
    head.remove_prefix(1);
    if (byte == '{' || byte == '[') {
      arrays += byte == '[' ? 1 : 0;
      open.push_back({byte == '[', arrays > 0 || keys.empty() ? "" : keys.back() + "."});
    } else if (byte == '}' || byte == ']') {
      arrays -= open.back().is_array ? 1 : 0;
      open.pop_back();
      if (open.empty()) break;
    }
  }
  return keys;
}

bool first_object_has_all(std::string_view head, std::initializer_list<std::string_view> keys) {
  return std::ranges::all_of(keys, [found = keys_of_first_object(head)](std::string_view key) {
    return std::ranges::find(found, key) != found.end();
  });
}

bool first_object_has_any(std::string_view head, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys, [found = keys_of_first_object(head)](std::string_view key) {
    return std::ranges::find(found, key) != found.end();
  });
}

TrafficHead look_at_head(ReadBytes read) {
  auto head = std::make_shared<Head>();
  head->read = std::move(read);
  head->text.resize(kTrafficHeadBytes);
  std::size_t end = 0;
  while (end < head->text.size()) {
    const auto count = head->read(std::span(head->text).subspan(end));
    if (!count.ok()) head->error = count.error();
    if (!count.ok() || count.value() == 0) break;
    end += count.value();
  }
  head->text.resize(end);
  return {.text = head->text,
          .read = [head](std::span<char> into) { return read_again(*head, into); }};
}

}  // namespace hybridscope
