#include "cli/scenario_lines.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace hybridscope {
namespace {

// Offset behind `token` and the spaces before it, or npos when something else comes.
std::size_t skip(std::string_view text, std::size_t at, std::string_view token) {
  at = text.find_first_not_of(" \t\r\n", at);
  if (at == std::string_view::npos || !text.substr(at).starts_with(token))
    return std::string_view::npos;
  return at + token.size();
}

}  // namespace

ScenarioLines::ScenarioLines(const std::string& path) {
  if (path.empty()) return;
  std::ifstream in(path, std::ios::binary);
  text_.assign(std::istreambuf_iterator<char>(in), {});
}

std::int64_t ScenarioLines::of_request(std::string_view name) const {
  if (text_.empty()) return 0;
  const std::string value = '"' + std::string(name) + '"';
  constexpr std::string_view kKey = "\"id\"";
  for (std::size_t at = text_.find(kKey); at != std::string::npos; at = text_.find(kKey, at + 1)) {
    const std::size_t colon = skip(text_, at + kKey.size(), ":");
    if (colon == std::string_view::npos || skip(text_, colon, value) == std::string_view::npos)
      continue;
    return 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  }
  return 1;
}

}  // namespace hybridscope
