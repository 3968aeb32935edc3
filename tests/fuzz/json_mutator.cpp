// libFuzzer's mutator of JSON documents and of JSON lines. Byte mutations mostly break the syntax;
// half of the time one value of the document is changed instead: to a number that readers get
// wrong, to another value of the same document, or away.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using nlohmann::json;

using Random = std::minstd_rand;

std::size_t pick(Random& random, std::size_t count) { return random() % count; }

void collect(json& value, std::vector<json*>& values) {
  values.push_back(&value);
  if (!value.is_structured()) return;
  for (json& child : value) collect(child, values);
}

json edge_value(Random& random, const json& old) {
  static const json kEdges = json::parse(
      "[0, 1, 2, 3, 4, 7, 8, 16, -1, 255, 65536, 16777216, 2147483647, -2147483648,"
      " 2147483648, 4294967296, 9223372036854775807, -9223372036854775808,"
      " 18446744073709551615, 0.5, -0.0, 1e308, null, true, false, \"\", [], {}]");
  if (old.is_number_integer() && pick(random, 2) == 0) {
    const auto step = static_cast<std::int64_t>(pick(random, 9)) - 4;
    return static_cast<std::int64_t>(old.get<std::uint64_t>() + static_cast<std::uint64_t>(step));
  }
  return kEdges[pick(random, kEdges.size())];
}

void erase_or_double(Random& random, json& value) {
  if (!value.is_structured() || value.empty()) return;
  const auto at = std::next(value.begin(), static_cast<std::ptrdiff_t>(pick(random, value.size())));
  if (value.is_array() && pick(random, 2) == 0)
    value.insert(at, json(*at));
  else
    value.erase(at);
}

void change(Random& random, json& document) {
  std::vector<json*> values;
  collect(document, values);
  json& value = *values[pick(random, values.size())];
  switch (pick(random, 4)) {
    case 0:
      value = json(*values[pick(random, values.size())]);
      break;
    case 1:
      erase_or_double(random, value);
      break;
    default:
      value = edge_value(random, value);
  }
}

// The document changed, empty when it is no JSON.
std::string changed(Random& random, std::string_view text) {
  json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return {};
  for (std::size_t changes = 1 + pick(random, 3); changes > 0; --changes) change(random, document);
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

// One line changed, doubled or left out.
std::string line_changed(Random& random, std::string_view text) {
  const std::size_t somewhere = pick(random, text.size());
  const std::size_t begin = text.rfind('\n', somewhere == 0 ? 0 : somewhere - 1) + 1;
  const std::size_t first = begin > somewhere ? 0 : begin;
  const std::size_t last = std::min(text.find('\n', somewhere), text.size());
  const std::string_view line = text.substr(first, last - first);
  std::string middle = changed(random, line);
  if (middle.empty()) return {};
  const std::size_t choice = pick(random, 16);
  if (choice == 0) middle = std::string(line) + "\n" + middle;
  if (choice == 1) middle.clear();
  return std::string(text.substr(0, first)) + middle + std::string(text.substr(last));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  Random random(seed);
  if (size == 0 || pick(random, 2) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string_view text = hybridscope::test::as_text(data, size);
  std::string result = changed(random, text);
  if (result.empty()) result = line_changed(random, text);
  if (result.empty() || result.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(result.begin(), result.end(), data);
  return result.size();
}
