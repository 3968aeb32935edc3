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

}  // namespace

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
